package hostfs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// ContainerName is the name of a container in a list. An unknown part is "".
type ContainerName struct {
	Container string `json:"container"`
	Image     string `json:"image"`
	// Pod, PodUID and Namespace are those of Kubernetes.
	Pod       string `json:"pod"`
	PodUID    string `json:"pod_uid"`
	Namespace string `json:"namespace"`
	// Sandbox marks the container that only holds the namespaces of a pod (pause).
	Sandbox bool `json:"sandbox"`
}

// ListedContainer is the part used here of a container in the list of a Docker-compatible API (GET /containers/json). Docker and
// Podman serve the same.
type ListedContainer struct {
	ID     string `json:"Id"`
	Names  []string
	Image  string
	Labels map[string]string
}

// The labels that the Docker shim of a Kubernetes node puts on its containers (cri-dockerd,
// core/container_create.go and libdocker).
const (
	labelPod       = "io.kubernetes.pod.name"
	labelPodUID    = "io.kubernetes.pod.uid"
	labelNamespace = "io.kubernetes.pod.namespace"
	labelContainer = "io.kubernetes.container.name"
	labelType      = "io.kubernetes.docker.type"
	typeSandbox    = "podsandbox"
)

// Name is the name of the container in the list: within Kubernetes the name that the pod gives it.
func (l ListedContainer) Name() ContainerName {
	name := ContainerName{
		Container: l.Labels[labelContainer], Image: l.Image, Pod: l.Labels[labelPod],
		PodUID: l.Labels[labelPodUID], Namespace: l.Labels[labelNamespace], Sandbox: l.Labels[labelType] == typeSandbox,
	}
	if name.Container == "" {
		name.Container = l.ownName()
	}
	return name
}

// ownName is the first component of the container's own path; links of other containers to it, such as /web/database,
// are listed too.
func (l ListedContainer) ownName() string {
	at := slices.IndexFunc(l.Names, func(name string) bool { return strings.LastIndexByte(name, '/') <= 0 })
	if at < 0 {
		return ""
	}
	return strings.TrimPrefix(l.Names[at], "/")
}

// ListedContainerNames converts a list to names by container id. Entries without a whole id are left out.
func ListedContainerNames(list []ListedContainer) map[string]ContainerName {
	names := make(map[string]ContainerName, len(list))
	for _, one := range list {
		if isID(one.ID) {
			names[one.ID] = one.Name()
		}
	}
	return names
}

// ContainerNames are names by container id, whole or as its first twelve digits.
type ContainerNames map[string]ContainerName

// shortDigits is the length of an id as docker ps prints it.
const shortDigits = 12

// Of looks up a whole id.
func (n ContainerNames) Of(id string) (ContainerName, bool) {
	if name, found := n[id]; found || len(id) < shortDigits {
		return name, found
	}
	name, found := n[id[:shortDigits]]
	return name, found
}

var errContainerNames = errors.New("must be a JSON object by container id, JSON lines with an id, or lines of id and name")

// ParseContainerNames reads a file that names containers, in any of these forms; ids have 64 digits or their first 12.
//
//	{"3f2a…": {"container": "vllm", "image": "vllm/vllm-openai:v0.11", "pod": "", "namespace": ""}}
//	{"id": "3f2a…", "container": "vllm"}
//	3f2a… vllm vllm/vllm-openai:v0.11
//
// The second and third have a line for every container; docker ps --no-trunc --format '{{.ID}} {{.Names}} {{.Image}}'
// prints the third. There, empty lines and lines that begin with # are skipped. An error names the faulty place and
// returns no names: half a file would rename half of the containers.
func ParseContainerNames(text []byte) (ContainerNames, error) {
	if trimmed := bytes.TrimSpace(text); len(trimmed) > 0 && trimmed[0] == '{' {
		return parseJSONContainerNames(trimmed)
	}
	names := ContainerNames{}
	number := 0
	for line := range bytes.Lines(text) {
		number++
		fields := strings.Fields(string(line))
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if len(fields) < 2 || len(fields) > 3 || !isFileID(fields[0]) {
			return nil, fmt.Errorf("line %d: %w", number, errContainerNames)
		}
		names[fields[0]] = ContainerName{Container: fields[1], Image: strings.Join(fields[2:], "")}
	}
	return names, nil
}

// parseJSONContainerNames reads one object after the other; one with an id of its own is a line.
func parseJSONContainerNames(text []byte) (ContainerNames, error) {
	names := ContainerNames{}
	decoder := json.NewDecoder(bytes.NewReader(text))
	for number := 1; ; number++ {
		var object map[string]json.RawMessage
		if err := decoder.Decode(&object); errors.Is(err, io.EOF) {
			return names, nil
		} else if err != nil {
			return nil, fmt.Errorf("object %d: %w", number, err)
		}
		if err := names.add(object); err != nil {
			return nil, fmt.Errorf("object %d: %w", number, err)
		}
	}
}

func (n ContainerNames) add(object map[string]json.RawMessage) error {
	if raw, isLine := object["id"]; isLine {
		whole, err := json.Marshal(object)
		if err != nil {
			return err
		}
		var id string
		if err := json.Unmarshal(raw, &id); err != nil {
			return fmt.Errorf("id: %w", err)
		}
		return n.addOne(id, whole)
	}
	for id, raw := range object {
		if err := n.addOne(id, raw); err != nil {
			return err
		}
	}
	return nil
}

func (n ContainerNames) addOne(id string, raw json.RawMessage) error {
	if !isFileID(id) {
		return errContainerNames
	}
	var name ContainerName
	if err := json.Unmarshal(raw, &name); err != nil {
		return fmt.Errorf("container %.12s: %w", id, err)
	}
	n[id] = name
	return nil
}

func isFileID(text string) bool {
	return (len(text) == idDigits || len(text) == shortDigits) && isHex(text)
}
