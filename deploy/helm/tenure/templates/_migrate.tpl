{{- /* What brings the tables up to date. It changes nothing where they are. */}}
{{- define "tenure.migrateContainer" -}}
- name: migrate
  {{- include "tenure.containerImage" . | nindent 2 }}
  command: [/usr/local/bin/tenured]
  args:
    - migrate
    {{- include "tenure.arguments" . | nindent 4 }}
  {{- with .Values.extraEnv }}
  env:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.extraEnvFrom }}
  envFrom:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  resources:
    {{- toYaml .Values.migrations.resources | nindent 4 }}
  volumeMounts:
    - {name: config, mountPath: /etc/tenure/config, readOnly: true}
    {{- if eq .Values.store.kind "sqlite" }}
    - {name: data, mountPath: /var/lib/tenure}
    {{- else }}
    - {name: {{ empty .Values.migrations.existingSecret | ternary "store" "migrations-store" }}, mountPath: /etc/tenure/store, readOnly: true}
    {{- end }}
    {{- with .Values.extraVolumeMounts }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}

{{- /* The pod of the job. */}}
{{- define "tenure.migratePod" -}}
metadata:
  labels:
    {{- include "tenure.podLabels" (list . "migration") | nindent 4 }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .Values.podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- include "tenure.podSettings" . | nindent 2 }}
  restartPolicy: Never
  {{- with .Values.extraInitContainers }}
  initContainers:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    {{- include "tenure.migrateContainer" . | nindent 4 }}
  volumes:
    {{- include "tenure.configVolume" . | nindent 4 }}
    {{- if .Values.migrations.existingSecret }}
    {{- include "tenure.storeVolume" (list "migrations-store" .Values.migrations) | nindent 4 }}
    {{- else }}
    {{- include "tenure.storeVolume" (list "store" .Values.store) | nindent 4 }}
    {{- end }}
    {{- with .Values.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}
