{{- /* The pod of a server. */}}
{{- define "tenure.pod" -}}
{{- $sqlite := eq .Values.store.kind "sqlite" -}}
{{- $sleep := and (not $sqlite) (semverCompare ">=1.30-0" .Capabilities.KubeVersion.Version) | ternary (int .Values.preStopSleepSeconds) 0 -}}
metadata:
  labels:
    {{- include "tenure.podLabels" (list . "server") | nindent 4 }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    # Settings are read at start; what else is mounted is read again by the server itself.
    checksum/config: {{ include "tenure.config" . | sha256sum }}
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  {{- include "tenure.podSettings" . | nindent 2 }}
  # After its drain a server takes up to three seconds to end.
  terminationGracePeriodSeconds: {{ add (int .Values.drainTimeoutSeconds) $sleep 5 }}
  {{- with .Values.topologySpreadConstraints }}
  topologySpreadConstraints:
    {{- toYaml . | nindent 4 }}
  {{- else }}
  {{- if not $sqlite }}
  {{- with .Values.spread.topologyKeys }}
  topologySpreadConstraints:
    {{- range . }}
    - topologyKey: {{ . }}
      maxSkew: 1
      whenUnsatisfiable: {{ $.Values.spread.whenUnsatisfiable }}
      matchLabelKeys: [pod-template-hash]
      labelSelector:
        matchLabels:
          {{- include "tenure.serverLabels" $ | nindent 10 }}
    {{- end }}
  {{- end }}
  {{- end }}
  {{- end }}
  {{- if or .Values.extraInitContainers (eq .Values.migrations.mode "initContainer") }}
  initContainers:
    {{- with .Values.extraInitContainers }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    {{- if eq .Values.migrations.mode "initContainer" }}
    {{- include "tenure.migrateContainer" . | nindent 4 }}
    {{- end }}
  {{- end }}
  containers:
    - name: tenured
      {{- include "tenure.containerImage" . | nindent 6 }}
      command: [/usr/local/bin/tenured]
      args:
        - serve
        {{- include "tenure.arguments" . | nindent 8 }}
      env:
        - name: POD_IP
          valueFrom:
            fieldRef:
              fieldPath: status.podIP
        - name: TENURE_ADVERTISE
          value: {{ eq .Values.ipFamily "IPv6" | ternary "[$(POD_IP)]:7420" "$(POD_IP):7420" | quote }}
        {{- with .Values.extraEnv }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- with .Values.extraEnvFrom }}
      envFrom:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      ports:
        - name: grpc
          containerPort: 7420
        - name: admin
          containerPort: 7421
      livenessProbe:
        httpGet: {path: /livez, port: admin}
        {{- toYaml .Values.livenessProbe | nindent 8 }}
      readinessProbe:
        httpGet: {path: /readyz, port: admin}
        {{- toYaml .Values.readinessProbe | nindent 8 }}
      {{- with $sleep }}
      lifecycle:
        preStop:
          sleep: {seconds: {{ . }}}
      {{- end }}
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      volumeMounts:
        - {name: config, mountPath: /etc/tenure/config, readOnly: true}
        - {name: data, mountPath: /var/lib/tenure}
        {{- if not $sqlite }}
        - {name: store, mountPath: /etc/tenure/store, readOnly: true}
        {{- end }}
        {{- range include "tenure.credentialFiles" . | fromYamlArray }}
        - {name: {{ .name }}, mountPath: /etc/tenure/{{ .name }}, readOnly: true}
        {{- end }}
        {{- with .Values.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    {{- with .Values.extraContainers }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  volumes:
    {{- include "tenure.configVolume" . | nindent 4 }}
    {{- if not $sqlite }}
    # The server makes its data directory wherever its state is, and keeps nothing there.
    - name: data
      emptyDir: {sizeLimit: 16Mi}
    {{- include "tenure.storeVolume" (list "store" .Values.store) | nindent 4 }}
    {{- if and (eq .Values.migrations.mode "initContainer") .Values.migrations.existingSecret }}
    {{- include "tenure.storeVolume" (list "migrations-store" .Values.migrations) | nindent 4 }}
    {{- end }}
    {{- else if .Values.sqlite.existingClaim }}
    - name: data
      persistentVolumeClaim:
        claimName: {{ .Values.sqlite.existingClaim }}
    {{- end }}
    {{- with include "tenure.credentialFiles" . | trim }}
    {{- . | nindent 4 }}
    {{- end }}
    {{- with .Values.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}

{{- /* What all pods of the chart have. */}}
{{- define "tenure.podSettings" -}}
serviceAccountName: {{ include "tenure.serviceAccount" . }}
automountServiceAccountToken: false
# A service named tenure-... would give the server variables that it takes for misspelt settings.
enableServiceLinks: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.podSecurityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "tenure.containerImage" -}}
image: {{ include "tenure.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- with .Values.securityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
