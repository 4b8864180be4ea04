// Uses the client that openapi-generator has made: `use_go URL`. The tests compile and run it.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"example/planner"
)

var client *planner.APIClient

func sure(err error) {
	if err == nil {
		return
	}
	if refused, ok := err.(*planner.GenericOpenAPIError); ok {
		fmt.Fprintln(os.Stderr, string(refused.Body()))
	}
	panic(err)
}

func wait(job *planner.Job, err error) *planner.Job {
	sure(err)
	for job.State == "queued" || job.State == "running" {
		time.Sleep(50 * time.Millisecond)
		job, _, err = client.JobsAPI.GetJob(context.Background(), job.Id).Execute()
		sure(err)
	}
	if job.State != "done" {
		panic(job.GetError())
	}
	return job
}

func buffer(id string, size int64, begin int64, end int64) planner.Buffer {
	made := planner.NewBuffer(size, id)
	made.SetLifetime(planner.Lifetime{ArrayOfInt64: &[]int64{begin, end}})
	return *made
}

func main() {
	ctx := context.Background()
	configuration := planner.NewConfiguration()
	configuration.Servers = planner.ServerConfigurations{{URL: os.Args[1]}}
	client = planner.NewAPIClient(configuration)
	problem := planner.NewProblem(1, []planner.Buffer{buffer("a", 64, 0, 2), buffer("b", 3000000000, 1, 3)})

	body := planner.PlanRequest{Problem: problem}
	answer, _, err := client.PlanAPI.Plan(ctx).PlanRequest(body).Seed(3).Execute()
	sure(err)
	fmt.Println("plan", answer.Plan.Status, answer.Plan.Pools[0].Peak)

	submitted, _, err := client.JobsAPI.SubmitJob(ctx).SubmitJobRequest(planner.SubmitJobRequest{Problem: problem}).Name("from go").Execute()
	job := wait(submitted, err)
	answer, _, err = client.JobsAPI.GetJobPlan(ctx, job.Id).Execute()
	sure(err)
	fmt.Println("job", job.GetName(), answer.Plan.Status, answer.Plan.Pools[0].Peak)

	fast, slow := planner.NewPool("fast"), planner.NewPool("slow")
	fast.SetCapacity(64)
	slow.SetCost(4)
	problem = planner.NewProblem(1, problem.Buffers[:1])
	problem.SetPools([]planner.Pool{*fast, *slow})
	asked := planner.NewSubmitFrontEnvelope(planner.SubmitFrontEnvelopeProblem{Problem: problem})
	asked.SetFront(planner.FrontOptions{Terms: []string{"peak:fast", "placement_cost"}})
	submitted, _, err = client.FrontsAPI.SubmitFront(ctx).
		SubmitFrontRequest(planner.SubmitFrontRequest{SubmitFrontEnvelope: asked}).Execute()
	job = wait(submitted, err)
	found, _, err := client.FrontsAPI.GetJobFront(ctx, job.Id).Execute()
	sure(err)
	fmt.Print("front")
	for _, point := range found.Front.Points {
		fmt.Print(" ", point.AdditionalProperties["peak:fast"])
	}
	fmt.Println()
}
