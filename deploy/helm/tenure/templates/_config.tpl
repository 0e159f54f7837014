{{- /* The server's settings, as its file. JSON's strings, numbers, booleans are TOML's, too. */}}
{{- define "tenure.config" -}}
{{- $own := dict
  "store_migrate" false
  "drain_timeout" (printf "%ds" (int .Values.drainTimeoutSeconds))
-}}
{{- if ne .Values.store.kind "sqlite" }}
{{- $_ := set $own "store_url_file" "/etc/tenure/store/url" }}
{{- end }}
{{- if .Values.insecure.allow }}
{{- $_ := set $own "allow_insecure" true }}
{{- end }}
{{- if include "tenure.hasTls" . }}
{{- $_ := set $own "tls_cert" "/etc/tenure/tls/tls.crt" }}
{{- $_ := set $own "tls_key" "/etc/tenure/tls/tls.key" }}
{{- end }}
{{- if include "tenure.hasClientCa" . }}
{{- $_ := set $own "tls_client_ca" "/etc/tenure/client-ca/ca.crt" }}
{{- end }}
{{- if include "tenure.hasClientCrl" . }}
{{- $_ := set $own "tls_client_crl" "/etc/tenure/client-crl/crl.pem" }}
{{- end }}
{{- if .Values.auth.tokens.existingSecret }}
{{- $_ := set $own "tokens_file" "/etc/tenure/tokens/tokens" }}
{{- end }}
{{- if include "tenure.hasPolicy" . }}
{{- $_ := set $own "policy" "/etc/tenure/policy/policy.toml" }}
{{- end }}
{{- if include "tenure.hasJwt" . }}
{{- $jwt := .Values.auth.jwt }}
{{- $_ := set $own "jwt_keys" ($jwt.keys | default "/etc/tenure/jwt/jwks.json") }}
{{- $_ := set $own "jwt_issuer" $jwt.issuer }}
{{- $_ := set $own "jwt_audience" $jwt.audience }}
{{- with $jwt.algorithms }}
{{- $_ := set $own "jwt_algorithms" (join "," .) }}
{{- end }}
{{- with $jwt.claim }}
{{- $_ := set $own "jwt_claim" . }}
{{- end }}
{{- end }}
{{- range $name, $value := merge $own .Values.config }}
{{ $name }} = {{ toJson $value }}
{{- end }}
{{- end }}

{{- /* What images may have variables for: those would win over the file, and arguments win over them. */}}
{{- define "tenure.arguments" -}}
{{- $any := eq .Values.ipFamily "IPv6" | ternary "[::]" "0.0.0.0" -}}
- --config=/etc/tenure/config/tenured.toml
- --data-dir=/var/lib/tenure
- --listen={{ $any }}:7420
- --admin-listen={{ $any }}:7421
{{- end }}
