{{- /* The sidecar's container, an init container that keeps running, and its volumes. A chart that depends on this one can include
both in the pod of its own core. Reasons are in deploy/kustomize/base/sidecar.yaml. */ -}}
{{- define "nodesift.container" -}}
- name: nodesift
  image: {{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
  imagePullPolicy: {{ .Values.image.pullPolicy }}
  restartPolicy: Always
  args:
  - serve
  - --kube
  {{- range .Values.sidecar.args }}
  - {{ . }}
  {{- end }}
  {{- if .Values.policyResource }}
  - --policy-resource={{ .Values.policyResource }}
  - --module-folder=/etc/nodesift/modules
  {{- else }}
  - --policy=/etc/nodesift/policy
  {{- end }}
  {{- range .Values.modules.registries }}
  - --registries={{ . }}
  {{- end }}
  - --state-folder=/var/lib/nodesift/state
  - --probe-listen=0.0.0.0:10271
  {{- if .Values.sidecar.explorer }}
  - --explorer=127.0.0.1:10272
  {{- else }}
  - --no-explorer
  {{- end }}
  - --log-format=json
  env:
  - name: NODESIFT_SOCKET
    value: /run/nodesift/nodesift.sock
  - name: POD_NAME
    valueFrom: {fieldRef: {fieldPath: metadata.name}}
  ports:
  - name: nodesift
    containerPort: 10271
  {{- if .Values.sidecar.explorer }}
  - name: explorer
    containerPort: 10272
  {{- end }}
  startupProbe:
    exec: {command: [/nodesift, health, --live]}
    periodSeconds: 1
    failureThreshold: 120
  livenessProbe:
    exec: {command: [/nodesift, health, --live]}
    periodSeconds: 10
    timeoutSeconds: 2
    failureThreshold: 3
  readinessProbe:
    exec: {command: [/nodesift, health]}
    periodSeconds: 5
    timeoutSeconds: 2
    failureThreshold: 2
  resources:
    {{- toYaml .Values.sidecar.resources | nindent 4 }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    readOnlyRootFilesystem: true
    allowPrivilegeEscalation: false
    capabilities: {drop: [ALL]}
    seccompProfile: {type: RuntimeDefault}
  volumeMounts:
  - {name: nodesift-socket, mountPath: /run/nodesift}
  - {name: nodesift-state, mountPath: /var/lib/nodesift}
  - {name: nodesift-policy, mountPath: /etc/nodesift/policy, readOnly: true}
  - {name: nodesift-modules, mountPath: /etc/nodesift/modules, readOnly: true}
  - {name: nodesift-token, mountPath: /var/run/secrets/kubernetes.io/serviceaccount, readOnly: true}
{{- end }}

{{- define "nodesift.volumes" -}}
- name: nodesift-socket
  emptyDir: {medium: Memory, sizeLimit: 1Mi}
- name: nodesift-state
  emptyDir: {sizeLimit: 1Gi}
- name: nodesift-policy
  configMap: {name: nodesift-policy}
- name: nodesift-modules
  {{- if .Values.modules.image }}
  image: {reference: {{ .Values.modules.image }}, pullPolicy: IfNotPresent}
  {{- else }}
  configMap: {name: nodesift-modules, optional: true}
  {{- end }}
- name: nodesift-token
  secret:
    secretName: {{ .Values.sidecar.tokenSecret | default "nodesift-token" }}
    items:
    - {key: token, path: token}
    - {key: ca.crt, path: ca.crt}
    - {key: namespace, path: namespace}
{{- end }}
