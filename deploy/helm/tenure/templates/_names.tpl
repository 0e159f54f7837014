{{- /* The names, the labels and the image of everything. */}}

{{- define "tenure.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end }}

{{- /* Leaves room for what is appended: the longest is the migration's job. */}}
{{- define "tenure.fullname" -}}
{{- $name := include "tenure.name" . -}}
{{- $full := contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name) -}}
{{- .Values.fullnameOverride | default $full | trunc 45 | trimSuffix "-" -}}
{{- end }}

{{- define "tenure.selectorLabels" -}}
app.kubernetes.io/name: {{ include "tenure.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "tenure.serverLabels" -}}
{{ include "tenure.selectorLabels" . }}
app.kubernetes.io/component: server
{{- end }}

{{- /* The labels of a pod: nothing that changes with the chart alone, which would replace all servers. A list as below. */}}
{{- define "tenure.podLabels" -}}
{{- $root := first . -}}
{{ include "tenure.selectorLabels" $root }}
app.kubernetes.io/component: {{ last . }}
{{- with $root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* The labels of an object. Takes a list: the root, and the component. */}}
{{- define "tenure.labels" -}}
{{- $root := first . -}}
{{ include "tenure.podLabels" . }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "tenure.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (.Values.serviceAccount.create | ternary (include "tenure.fullname" .) "default") -}}
{{- end }}

{{- define "tenure.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end }}

{{- define "tenure.hasTls" -}}
{{- if or .Values.tls.existingSecret .Values.tls.certManager.enabled }}yes{{ end -}}
{{- end }}

{{- define "tenure.tlsSecret" -}}
{{- .Values.tls.existingSecret | default (printf "%s-tls" (include "tenure.fullname" .)) -}}
{{- end }}

{{- define "tenure.hasClientCa" -}}
{{- with .Values.tls.clientCa }}{{ if or .existingSecret .existingConfigMap }}yes{{ end }}{{ end -}}
{{- end }}

{{- define "tenure.hasClientCrl" -}}
{{- with .Values.tls.clientCrl }}{{ if or .existingSecret .existingConfigMap }}yes{{ end }}{{ end -}}
{{- end }}

{{- define "tenure.hasJwt" -}}
{{- with .Values.auth.jwt }}{{ if or .keys .existingConfigMap }}yes{{ end }}{{ end -}}
{{- end }}

{{- define "tenure.hasPolicy" -}}
{{- with .Values.auth.policy }}{{ if or .inline .existingConfigMap .existingSecret }}yes{{ end }}{{ end -}}
{{- end }}

{{- /* Whether clients have to say who they are. */}}
{{- define "tenure.hasCredentials" -}}
{{- if or (include "tenure.hasClientCa" .) .Values.auth.tokens.existingSecret (include "tenure.hasJwt" .) }}yes{{ end -}}
{{- end }}

{{- /* Whether `helm test` can take a lock: it must be able to say who it is, where that is asked. */}}
{{- define "tenure.hasTest" -}}
{{- with .Values.helmTest }}
{{- $shows := or .tokenSecret.name .certificateSecret .serviceAccountTokenAudience -}}
{{- if and .enabled (or $shows (not (include "tenure.hasCredentials" $))) }}yes{{ end -}}
{{- end -}}
{{- end }}

{{- /* The name of the service within the cluster, and its port. */}}
{{- define "tenure.endpoint" -}}
{{ include "tenure.hasTls" . | empty | ternary "http" "https" }}://{{ include "tenure.fullname" . }}.{{ .Release.Namespace }}.svc:{{ .Values.service.port }}
{{- end }}

{{- define "tenure.appProtocol" -}}
{{- .Values.service.appProtocol | default (empty (include "tenure.hasTls" .) | ternary "kubernetes.io/h2c" "") -}}
{{- end }}
