{{- /* Volumes of the pods. Whole folders are mounted, never single files: only so does a file change with its Secret. */}}

{{- define "tenure.configVolume" -}}
- name: config
  configMap:
    name: {{ include "tenure.fullname" . }}
{{- end }}

{{- /* The URL of the database. Takes a list: the volume's name, and the values that say where it comes from. */}}
{{- define "tenure.storeVolume" -}}
{{- $from := last . -}}
- name: {{ first . }}
  secret:
    secretName: {{ $from.existingSecret }}
    defaultMode: 0440
    items:
      - {key: {{ $from.urlKey }}, path: url}
      {{- with $from.caKey }}
      - {key: {{ . }}, path: ca.crt}
      {{- end }}
{{- end }}

{{- /* A file from a Secret or a ConfigMap. Takes a list: the volume's name, the file's, and the values that say where from. */}}
{{- define "tenure.fileVolume" -}}
{{- $from := last . -}}
- name: {{ first . }}
  {{- if $from.existingSecret }}
  secret:
    secretName: {{ $from.existingSecret }}
    defaultMode: 0440
  {{- else }}
  configMap:
    name: {{ $from.existingConfigMap }}
  {{- end }}
    items:
      - {key: {{ $from.key }}, path: {{ index . 1 }}}
{{- end }}

{{- /* What says who the server is, who a client is, and what it may do: a volume each, mounted under its name. */}}
{{- define "tenure.credentialFiles" -}}
{{- if include "tenure.hasTls" . }}
- name: tls
  secret:
    secretName: {{ include "tenure.tlsSecret" . }}
    defaultMode: 0440
    items:
      - {key: tls.crt, path: tls.crt}
      - {key: tls.key, path: tls.key}
{{- end }}
{{- if include "tenure.hasClientCa" . }}
{{ include "tenure.fileVolume" (list "client-ca" "ca.crt" .Values.tls.clientCa) }}
{{- end }}
{{- if include "tenure.hasClientCrl" . }}
{{ include "tenure.fileVolume" (list "client-crl" "crl.pem" .Values.tls.clientCrl) }}
{{- end }}
{{- if .Values.auth.tokens.existingSecret }}
{{ include "tenure.fileVolume" (list "tokens" "tokens" .Values.auth.tokens) }}
{{- end }}
{{- if .Values.auth.jwt.existingConfigMap }}
{{ include "tenure.fileVolume" (list "jwt" "jwks.json" .Values.auth.jwt) }}
{{- end }}
{{- with .Values.auth.policy }}
{{- if .inline }}
{{ include "tenure.fileVolume" (list "policy" "policy.toml" (dict "existingConfigMap" (printf "%s-policy" (include "tenure.fullname" $)) "key" "policy.toml")) }}
{{- else if or .existingConfigMap .existingSecret }}
{{ include "tenure.fileVolume" (list "policy" "policy.toml" .) }}
{{- end }}
{{- end }}
{{- end }}
