{{- define "memstow.name" -}}
{{- if eq .Release.Name "memstow" -}}
memstow
{{- else -}}
{{ printf "%s-memstow" .Release.Name | trunc 50 | trimSuffix "-" }}
{{- end -}}
{{- end -}}

{{- define "memstow.selector" -}}
app.kubernetes.io/name: memstow
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "memstow.labels" -}}
{{ include "memstow.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
{{- end -}}

{{- define "memstow.image" -}}
{{ printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) | quote }}
{{- end -}}

{{- define "memstow.databaseSecret" -}}
{{- if .Values.database.existingSecret -}}
{{ .Values.database.existingSecret }}
{{- else -}}
{{ include "memstow.name" . }}-database
{{- end -}}
{{- end -}}

{{- define "memstow.database" -}}
- name: MEMSTOW_DATABASE
  valueFrom:
    secretKeyRef:
      name: {{ include "memstow.databaseSecret" . }}
      key: {{ .Values.database.key | quote }}
{{- end -}}

{{- define "memstow.pod" -}}
# Or a service called memstow would become the setting MEMSTOW_PORT, and others.
enableServiceLinks: false
automountServiceAccountToken: false
{{- if .Values.serviceAccountName }}
serviceAccountName: {{ .Values.serviceAccountName | quote }}
{{- end }}
{{- if .Values.image.pullSecrets }}
imagePullSecrets:
  {{- toYaml .Values.image.pullSecrets | nindent 2 }}
{{- end }}
{{- if .Values.nodeSelector }}
nodeSelector:
  {{- toYaml .Values.nodeSelector | nindent 2 }}
{{- end }}
{{- if .Values.tolerations }}
tolerations:
  {{- toYaml .Values.tolerations | nindent 2 }}
{{- end }}
{{- if .Values.affinity }}
affinity:
  {{- toYaml .Values.affinity | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "memstow.container" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}
