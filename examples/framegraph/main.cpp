// A frame graph whose transient images share one allocation of Vulkan, where libmemstow says.
//
// The frame is drawn twice, with an allocation for each image and with one for all. The last image must be
// the same, and the validation layers, with synchronization validation where they are there, must have
// nothing to say.

#include <vulkan/vulkan.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memstow.hpp>
#include <string>
#include <vector>

#include "pass.h"

namespace {

struct Pass {
    const char* name;
    std::vector<std::size_t> inputs;  // Passes whose images are read: at most two.
    std::uint32_t divisor;            // Of the width and the height of the frame.
};

// Deferred shading, ambient occlusion, bloom and anti-aliasing, as engines have them; each pass makes one
// image.
const std::vector<Pass> kFrame = {
    {"albedo", {}, 1},
    {"normals", {}, 1},
    {"depth", {}, 1},
    {"occlusion", {1, 2}, 2},
    {"occlusion blurred", {3}, 2},
    {"lights", {0, 1}, 1},
    {"shaded", {5, 4}, 1},
    {"fog", {6, 2}, 1},
    {"bright", {7}, 2},
    {"down 4", {8}, 4},
    {"down 8", {9}, 8},
    {"down 16", {10}, 16},
    {"up 8", {11, 10}, 8},
    {"up 4", {12, 9}, 4},
    {"up 2", {13, 8}, 2},
    {"bloomed", {7, 14}, 1},
    {"luminance", {15}, 16},
    {"tone mapped", {15, 16}, 1},
    {"edges", {17}, 1},
    {"anti-aliased", {17, 18}, 1},
};
constexpr std::uint32_t kWidth = 640, kHeight = 360;
constexpr VkFormat kFormat = VK_FORMAT_R8G8B8A8_UNORM;

int complaints = 0;

VKAPI_ATTR VkBool32 VKAPI_CALL complain(VkDebugUtilsMessageSeverityFlagBitsEXT,
                                        VkDebugUtilsMessageTypeFlagsEXT,
                                        const VkDebugUtilsMessengerCallbackDataEXT* data, void*) {
    ++complaints;
    std::fprintf(stderr, "%s\n", data->pMessage);
    return VK_FALSE;
}

void must(VkResult result, const char* what) {
    if (result == VK_SUCCESS) return;
    std::fprintf(stderr, "%s: error %d of Vulkan\n", what, static_cast<int>(result));
    std::exit(2);
}

bool has_layer(const char* name) {
    std::uint32_t count = 0;
    vkEnumerateInstanceLayerProperties(&count, nullptr);
    std::vector<VkLayerProperties> layers(count);
    vkEnumerateInstanceLayerProperties(&count, layers.data());
    return std::any_of(layers.begin(), layers.end(), [&](const VkLayerProperties& layer) {
        return std::strcmp(layer.layerName, name) == 0;
    });
}

struct Device {
    VkInstance instance = VK_NULL_HANDLE;
    VkPhysicalDevice physical = VK_NULL_HANDLE;
    VkDevice device = VK_NULL_HANDLE;
    VkQueue queue = VK_NULL_HANDLE;
    VkCommandPool commands = VK_NULL_HANDLE;
    std::uint32_t family = 0;
    bool is_validated = false;

    std::uint32_t memory_type(std::uint32_t allowed, VkMemoryPropertyFlags wanted) const {
        VkPhysicalDeviceMemoryProperties memories;
        vkGetPhysicalDeviceMemoryProperties(physical, &memories);
        for (std::uint32_t type = 0; type < memories.memoryTypeCount; ++type) {
            const bool has = (memories.memoryTypes[type].propertyFlags & wanted) == wanted;
            if ((allowed >> type & 1u) != 0 && has) return type;
        }
        std::fprintf(stderr, "no memory of the device is of the kind that is needed\n");
        std::exit(2);
    }

    VkDeviceMemory allocate(VkDeviceSize size, std::uint32_t allowed, VkMemoryPropertyFlags wanted) const {
        VkMemoryAllocateInfo info{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, nullptr, size,
                                  memory_type(allowed, wanted)};
        VkDeviceMemory memory;
        must(vkAllocateMemory(device, &info, nullptr, &memory), "vkAllocateMemory");
        return memory;
    }
};

Device open_device() {
    Device opened;
    const char* layer = "VK_LAYER_KHRONOS_validation";
    const char* extension = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
    opened.is_validated = has_layer(layer);
    VkApplicationInfo application{};
    application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    application.apiVersion = VK_API_VERSION_1_1;
    const VkValidationFeatureEnableEXT wanted = VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
    VkValidationFeaturesEXT features{};
    features.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT;
    features.enabledValidationFeatureCount = 1;
    features.pEnabledValidationFeatures = &wanted;
    VkDebugUtilsMessengerCreateInfoEXT messenger{};
    messenger.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT;
    messenger.pNext = &features;
    messenger.messageSeverity =
        VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
    messenger.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
    messenger.pfnUserCallback = complain;
    VkInstanceCreateInfo instance{};
    instance.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    instance.pApplicationInfo = &application;
    if (opened.is_validated) {
        instance.pNext = &messenger;
        instance.enabledLayerCount = 1;
        instance.ppEnabledLayerNames = &layer;
        instance.enabledExtensionCount = 1;
        instance.ppEnabledExtensionNames = &extension;
    }
    must(vkCreateInstance(&instance, nullptr, &opened.instance), "vkCreateInstance");
    if (opened.is_validated) {
        messenger.pNext = nullptr;
        const auto create = reinterpret_cast<PFN_vkCreateDebugUtilsMessengerEXT>(
            vkGetInstanceProcAddr(opened.instance, "vkCreateDebugUtilsMessengerEXT"));
        VkDebugUtilsMessengerEXT made;
        must(create(opened.instance, &messenger, nullptr, &made), "vkCreateDebugUtilsMessengerEXT");
    }
    std::uint32_t count = 1;
    const VkResult listed = vkEnumeratePhysicalDevices(opened.instance, &count, &opened.physical);
    if (count == 0 || (listed != VK_SUCCESS && listed != VK_INCOMPLETE)) {
        std::fprintf(stderr, "there is no device for Vulkan\n");
        std::exit(2);
    }
    std::uint32_t families = 0;
    vkGetPhysicalDeviceQueueFamilyProperties(opened.physical, &families, nullptr);
    std::vector<VkQueueFamilyProperties> queues(families);
    vkGetPhysicalDeviceQueueFamilyProperties(opened.physical, &families, queues.data());
    while (opened.family + 1 < families && (queues[opened.family].queueFlags & VK_QUEUE_COMPUTE_BIT) == 0) {
        ++opened.family;
    }
    const float priority = 1.0f;
    VkDeviceQueueCreateInfo queue{};
    queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
    queue.queueFamilyIndex = opened.family;
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
    VkDeviceCreateInfo device{};
    device.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    device.queueCreateInfoCount = 1;
    device.pQueueCreateInfos = &queue;
    must(vkCreateDevice(opened.physical, &device, nullptr, &opened.device), "vkCreateDevice");
    vkGetDeviceQueue(opened.device, opened.family, 0, &opened.queue);
    VkCommandPoolCreateInfo commands{};
    commands.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    commands.queueFamilyIndex = opened.family;
    must(vkCreateCommandPool(opened.device, &commands, nullptr, &opened.commands), "vkCreateCommandPool");
    return opened;
}

VkExtent2D extent_of(const Pass& pass) { return {kWidth / pass.divisor, kHeight / pass.divisor}; }

VkImage make_image(const Device& on, VkExtent2D extent) {
    VkImageCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO;
    info.imageType = VK_IMAGE_TYPE_2D;
    info.format = kFormat;
    info.extent = {extent.width, extent.height, 1};
    info.mipLevels = info.arrayLayers = 1;
    info.samples = VK_SAMPLE_COUNT_1_BIT;
    info.tiling = VK_IMAGE_TILING_OPTIMAL;
    info.usage = VK_IMAGE_USAGE_STORAGE_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT;
    VkImage image;
    must(vkCreateImage(on.device, &info, nullptr, &image), "vkCreateImage");
    return image;
}

// The passes, recorded and run; in `images`, whose memory is bound. The bytes of the last image.
class Frame {
  public:
    Frame(const Device& on, const std::vector<VkImage>& images) : on_(on), images_(images) {
        make_pipeline();
        make_sets();
    }

    std::vector<std::uint8_t> run() {
        const VkExtent2D extent = extent_of(kFrame.back());
        const VkDeviceSize bytes = VkDeviceSize{4} * extent.width * extent.height;
        VkBufferCreateInfo info{};
        info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
        info.size = bytes;
        info.usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT;
        VkBuffer buffer;
        must(vkCreateBuffer(on_.device, &info, nullptr, &buffer), "vkCreateBuffer");
        VkMemoryRequirements needs;
        vkGetBufferMemoryRequirements(on_.device, buffer, &needs);
        const VkDeviceMemory memory =
            on_.allocate(needs.size, needs.memoryTypeBits,
                         VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);
        must(vkBindBufferMemory(on_.device, buffer, memory, 0), "vkBindBufferMemory");

        VkCommandBufferAllocateInfo wanted{};
        wanted.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
        wanted.commandPool = on_.commands;
        wanted.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
        wanted.commandBufferCount = 1;
        VkCommandBuffer commands;
        must(vkAllocateCommandBuffers(on_.device, &wanted, &commands), "vkAllocateCommandBuffers");
        VkCommandBufferBeginInfo begin{};
        begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
        must(vkBeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer");
        vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline_);
        for (std::size_t at = 0; at < kFrame.size(); ++at) record(commands, at);
        record_copy(commands, buffer, extent);
        must(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
        VkSubmitInfo submit{};
        submit.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
        submit.commandBufferCount = 1;
        submit.pCommandBuffers = &commands;
        must(vkQueueSubmit(on_.queue, 1, &submit, VK_NULL_HANDLE), "vkQueueSubmit");
        must(vkQueueWaitIdle(on_.queue), "vkQueueWaitIdle");

        void* mapped;
        must(vkMapMemory(on_.device, memory, 0, bytes, 0, &mapped), "vkMapMemory");
        const auto* first = static_cast<const std::uint8_t*>(mapped);
        std::vector<std::uint8_t> pixels(first, first + bytes);
        vkUnmapMemory(on_.device, memory);
        vkDestroyBuffer(on_.device, buffer, nullptr);
        vkFreeMemory(on_.device, memory, nullptr);
        vkFreeCommandBuffers(on_.device, on_.commands, 1, &commands);
        destroy();
        return pixels;
    }

  private:
    void make_pipeline() {
        std::vector<VkDescriptorSetLayoutBinding> bindings(3);
        for (std::uint32_t at = 0; at < 3; ++at) {
            bindings[at] = {at, VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr};
        }
        VkDescriptorSetLayoutCreateInfo sets{};
        sets.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
        sets.bindingCount = 3;
        sets.pBindings = bindings.data();
        must(vkCreateDescriptorSetLayout(on_.device, &sets, nullptr, &set_layout_), "descriptor sets");
        const VkPushConstantRange constants{VK_SHADER_STAGE_COMPUTE_BIT, 0, 2 * sizeof(std::uint32_t)};
        VkPipelineLayoutCreateInfo layout{};
        layout.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
        layout.setLayoutCount = 1;
        layout.pSetLayouts = &set_layout_;
        layout.pushConstantRangeCount = 1;
        layout.pPushConstantRanges = &constants;
        must(vkCreatePipelineLayout(on_.device, &layout, nullptr, &layout_), "vkCreatePipelineLayout");
        VkShaderModuleCreateInfo shader{};
        shader.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
        shader.codeSize = sizeof(pass_spirv);
        shader.pCode = pass_spirv;
        VkShaderModule module;
        must(vkCreateShaderModule(on_.device, &shader, nullptr, &module), "vkCreateShaderModule");
        VkComputePipelineCreateInfo pipeline{};
        pipeline.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
        pipeline.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
        pipeline.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
        pipeline.stage.module = module;
        pipeline.stage.pName = "main";
        pipeline.layout = layout_;
        must(vkCreateComputePipelines(on_.device, VK_NULL_HANDLE, 1, &pipeline, nullptr, &pipeline_),
             "pipeline");
        vkDestroyShaderModule(on_.device, module, nullptr);
    }

    void make_sets() {
        const auto count = static_cast<std::uint32_t>(kFrame.size());
        const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, 3 * count};
        VkDescriptorPoolCreateInfo pool{};
        pool.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
        pool.maxSets = count;
        pool.poolSizeCount = 1;
        pool.pPoolSizes = &size;
        must(vkCreateDescriptorPool(on_.device, &pool, nullptr, &pool_), "vkCreateDescriptorPool");
        for (const VkImage image : images_) {
            VkImageViewCreateInfo view{};
            view.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO;
            view.image = image;
            view.viewType = VK_IMAGE_VIEW_TYPE_2D;
            view.format = kFormat;
            view.subresourceRange = kWhole;
            views_.emplace_back();
            must(vkCreateImageView(on_.device, &view, nullptr, &views_.back()), "vkCreateImageView");
        }
        const std::vector<VkDescriptorSetLayout> layouts(count, set_layout_);
        VkDescriptorSetAllocateInfo wanted{};
        wanted.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
        wanted.descriptorPool = pool_;
        wanted.descriptorSetCount = count;
        wanted.pSetLayouts = layouts.data();
        sets_.resize(count);
        must(vkAllocateDescriptorSets(on_.device, &wanted, sets_.data()), "vkAllocateDescriptorSets");
        for (std::size_t at = 0; at < kFrame.size(); ++at) {
            for (std::uint32_t binding = 0; binding < 3; ++binding) {
                const std::vector<std::size_t>& inputs = kFrame[at].inputs;
                // A pass without an input does not read what is bound there.
                const std::size_t source = binding < 2 && binding < inputs.size() ? inputs[binding] : at;
                const VkDescriptorImageInfo info{VK_NULL_HANDLE, views_[source], VK_IMAGE_LAYOUT_GENERAL};
                VkWriteDescriptorSet write{};
                write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
                write.dstSet = sets_[at];
                write.dstBinding = binding;
                write.descriptorCount = 1;
                write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_IMAGE;
                write.pImageInfo = &info;
                vkUpdateDescriptorSets(on_.device, 1, &write, 0, nullptr);
            }
        }
    }

    // Whatever was in these bytes before is read and written no more when the image of this pass begins
    // there.
    void record(VkCommandBuffer commands, std::size_t at) {
        VkMemoryBarrier before{};
        before.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
        before.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
        before.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
        VkImageMemoryBarrier begins{};
        begins.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER;
        begins.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
        begins.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
        begins.oldLayout = VK_IMAGE_LAYOUT_UNDEFINED;
        begins.newLayout = VK_IMAGE_LAYOUT_GENERAL;
        begins.srcQueueFamilyIndex = begins.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
        begins.image = images_[at];
        begins.subresourceRange = kWhole;
        const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
        vkCmdPipelineBarrier(commands, stage, stage, 0, 1, &before, 0, nullptr, 1, &begins);
        const std::uint32_t constants[] = {static_cast<std::uint32_t>(at),
                                           static_cast<std::uint32_t>(kFrame[at].inputs.size())};
        vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout_, 0, 1, &sets_[at], 0,
                                nullptr);
        vkCmdPushConstants(commands, layout_, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof constants, constants);
        const VkExtent2D extent = extent_of(kFrame[at]);
        vkCmdDispatch(commands, (extent.width + 7) / 8, (extent.height + 7) / 8, 1);
    }

    void record_copy(VkCommandBuffer commands, VkBuffer buffer, VkExtent2D extent) {
        VkMemoryBarrier before{};
        before.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
        before.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
        before.dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT;
        vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT,
                             0, 1, &before, 0, nullptr, 0, nullptr);
        VkBufferImageCopy region{};
        region.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
        region.imageExtent = {extent.width, extent.height, 1};
        vkCmdCopyImageToBuffer(commands, images_.back(), VK_IMAGE_LAYOUT_GENERAL, buffer, 1, &region);
        before.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
        before.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
        vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1,
                             &before, 0, nullptr, 0, nullptr);
    }

    void destroy() {
        for (const VkImageView view : views_) vkDestroyImageView(on_.device, view, nullptr);
        vkDestroyDescriptorPool(on_.device, pool_, nullptr);
        vkDestroyPipeline(on_.device, pipeline_, nullptr);
        vkDestroyPipelineLayout(on_.device, layout_, nullptr);
        vkDestroyDescriptorSetLayout(on_.device, set_layout_, nullptr);
    }

    static constexpr VkImageSubresourceRange kWhole{VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    const Device& on_;
    const std::vector<VkImage>& images_;
    VkDescriptorSetLayout set_layout_ = VK_NULL_HANDLE;
    VkPipelineLayout layout_ = VK_NULL_HANDLE;
    VkPipeline pipeline_ = VK_NULL_HANDLE;
    VkDescriptorPool pool_ = VK_NULL_HANDLE;
    std::vector<VkImageView> views_;
    std::vector<VkDescriptorSet> sets_;
};

// What the images need, as a problem: an image lives from its pass to the last that reads it.
libmemstow::Problem problem_of(const std::vector<VkMemoryRequirements>& needs) {
    libmemstow::Problem problem;
    for (std::size_t at = 0; at < kFrame.size(); ++at) {
        std::size_t last = at + 1 == kFrame.size() ? at + 1 : at;
        for (std::size_t later = at; later < kFrame.size(); ++later) {
            const std::vector<std::size_t>& inputs = kFrame[later].inputs;
            if (std::find(inputs.begin(), inputs.end(), at) != inputs.end()) last = later;
        }
        problem.add(static_cast<std::int64_t>(needs[at].size), static_cast<std::int64_t>(at),
                    static_cast<std::int64_t>(last) + 1, static_cast<std::int64_t>(needs[at].alignment));
    }
    return problem;
}

}  // namespace

int main() {
    const Device on = open_device();
    std::vector<std::uint8_t> pixels[2];
    for (const bool is_planned : {false, true}) {
        std::vector<VkImage> images;
        std::vector<VkMemoryRequirements> needs(kFrame.size());
        std::uint32_t allowed = ~0u;
        std::int64_t sum = 0;
        for (std::size_t at = 0; at < kFrame.size(); ++at) {
            images.push_back(make_image(on, extent_of(kFrame[at])));
            vkGetImageMemoryRequirements(on.device, images[at], &needs[at]);
            allowed &= needs[at].memoryTypeBits;
            sum += static_cast<std::int64_t>(needs[at].size);
        }
        std::vector<VkDeviceMemory> memories;
        if (is_planned) {
            const libmemstow::Plan plan = problem_of(needs).solve();
            std::printf("one allocation: %lld bytes, %s\n", static_cast<long long>(plan.peak()),
                        memstow_status_text(plan.status()));
            const auto size = static_cast<VkDeviceSize>(plan.peak());
            memories.push_back(on.allocate(size, allowed, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT));
            for (std::size_t at = 0; at < images.size(); ++at) {
                const auto offset = static_cast<VkDeviceSize>(plan.offsets()[at]);
                must(vkBindImageMemory(on.device, images[at], memories[0], offset), "vkBindImageMemory");
            }
        } else {
            std::printf("an allocation for each of %zu images: %lld bytes\n", images.size(),
                        static_cast<long long>(sum));
            for (std::size_t at = 0; at < images.size(); ++at) {
                memories.push_back(on.allocate(needs[at].size, needs[at].memoryTypeBits,
                                               VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT));
                must(vkBindImageMemory(on.device, images[at], memories.back(), 0), "vkBindImageMemory");
            }
        }
        pixels[is_planned] = Frame(on, images).run();
        for (const VkImage image : images) vkDestroyImage(on.device, image, nullptr);
        for (const VkDeviceMemory memory : memories) vkFreeMemory(on.device, memory, nullptr);
    }
    const auto [least, most] = std::minmax_element(pixels[0].begin(), pixels[0].end());
    if (*least == *most) {
        std::fprintf(stderr, "the frame is empty\n");
        return 1;
    }
    const bool is_same = pixels[0] == pixels[1];
    std::printf("%s; validation layers: %s\n", is_same ? "the frames are equal" : "the frames differ",
                !on.is_validated  ? "not installed"
                : complaints == 0 ? "nothing to say"
                                  : "see above");
    return is_same && complaints == 0 ? 0 : 1;
}
