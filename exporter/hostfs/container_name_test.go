package hostfs

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestListedContainersHaveTheNamesThatPeopleGaveThem(t *testing.T) {
	// As Docker 28 and Podman 5 answer, cut to the fields that are read and one that is not.
	answer := `[
  {"Id":"` + idA + `","Names":["/web/db","/vllm"],"Image":"vllm/vllm-openai:v0.11.0","Labels":{"com.docker.compose.service":"engine"},"State":"running"},
  {"Id":"` + idB + `","Names":["/k8s_engine_llm-0_serving_` + uid + `_0"],"Image":"sha256:00ff","Labels":{
    "io.kubernetes.pod.name":"llm-0","io.kubernetes.pod.namespace":"serving","io.kubernetes.pod.uid":"` + uid + `",
    "io.kubernetes.container.name":"engine","io.kubernetes.docker.type":"container"}},
  {"Id":"` + strings.Repeat("a", 64) + `","Names":["/k8s_POD_llm-0"],"Image":"registry.k8s.io/pause:3.10","Labels":{
    "io.kubernetes.pod.name":"llm-0","io.kubernetes.container.name":"POD","io.kubernetes.docker.type":"podsandbox"}},
  {"Id":"` + strings.Repeat("b", 64) + `","Names":null,"Image":"x","Labels":null},
  {"Id":"short","Names":["/odd"]}
]`
	var list []ListedContainer
	if err := json.Unmarshal([]byte(answer), &list); err != nil {
		t.Fatal(err)
	}
	names := ListedContainerNames(list)
	want := map[string]ContainerName{
		idA:                     {Container: "vllm", Image: "vllm/vllm-openai:v0.11.0"},
		idB:                     {Container: "engine", Image: "sha256:00ff", Pod: "llm-0", PodUID: uid, Namespace: "serving"},
		strings.Repeat("a", 64): {Container: "POD", Image: "registry.k8s.io/pause:3.10", Pod: "llm-0", Sandbox: true},
		strings.Repeat("b", 64): {Image: "x"},
	}
	if len(names) != len(want) {
		t.Errorf("%d names, want %d", len(names), len(want))
	}
	for id, name := range want {
		if names[id] != name {
			t.Errorf("%.12s: %+v, want %+v", id, names[id], name)
		}
	}
}

func TestFilesOfNamesInAllTheirForms(t *testing.T) {
	want := ContainerName{Container: "vllm", Image: "vllm/vllm-openai:v0.11.0"}
	for form, text := range map[string]string{
		"lines":           "# docker ps\n\n" + idA + " vllm vllm/vllm-openai:v0.11.0\n" + idB + " other\n",
		"short ids":       idA[:12] + "\tvllm\tvllm/vllm-openai:v0.11.0",
		"object":          `{"` + idA + `": {"container": "vllm", "image": "vllm/vllm-openai:v0.11.0"}, "` + idB + `": {}}`,
		"JSON lines":      `{"id": "` + idA + `", "container": "vllm", "image": "vllm/vllm-openai:v0.11.0"}` + "\n" + `{"id": "` + idB + `"}` + "\n",
		"objects in turn": ` {"` + idA[:12] + `": {"container": "vllm", "image": "vllm/vllm-openai:v0.11.0", "other": [1]}}` + "\n{}",
	} {
		names, err := ParseContainerNames([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", form, err)
		}
		if got, found := names.Of(idA); got != want || !found {
			t.Errorf("%s: %+v, %v", form, got, found)
		}
		if got, found := names.Of(strings.Repeat("c", 64)); found || got != (ContainerName{}) {
			t.Errorf("%s: a name for a container that is not in it: %+v", form, got)
		}
	}
	if names, err := ParseContainerNames([]byte(`{"id": "` + idA + `", "pod": "llm-0", "pod_uid": "u", "namespace": "serving", "sandbox": true}`)); err != nil ||
		names[idA] != (ContainerName{Pod: "llm-0", PodUID: "u", Namespace: "serving", Sandbox: true}) {
		t.Errorf("%+v, %v", names, err)
	}
	if names, err := ParseContainerNames(nil); err != nil || len(names) != 0 {
		t.Errorf("an empty file: %v, %v", names, err)
	}
}

func TestBrokenFilesOfNamesAreRefusedWithThePlace(t *testing.T) {
	for text, place := range map[string]string{
		idA + " vllm\n" + idB[:20] + " x\n":     "line 2",
		idA + "\n":                              "line 1",
		idA + " two words image\n":              "line 1",
		`{"` + idA + `": {"container": "vllm"}`: "object 1",
		`{"` + idA + `": {"container": 5}}`:     idA[:12],
		`{"id": 5}`:                             "id",
		`{"name": "vllm"}`:                      "object 1",
		`{"` + idA + `": {}} {"id": "` + idA + `", "container": []}`: "object 2",
		`["` + idA + `"]`: "line 1",
	} {
		names, err := ParseContainerNames([]byte(text))
		if err == nil || names != nil || !strings.Contains(err.Error(), place) {
			t.Errorf("%s: %v, %v", text, names, err)
		}
	}
}

func FuzzParseContainerNames(f *testing.F) {
	for _, seed := range []string{
		idA + " vllm image\n" + idB[:12] + " b\n", `{"` + idA + `":{"container":"vllm"}}`, `{"id":"` + idA + `","pod":"p"}` + "\n{}", "#\n\n", `{"id":null}`,
	} {
		f.Add([]byte(seed), uint16(len(seed)/2))
	}
	f.Fuzz(func(t *testing.T, text []byte, cut uint16) {
		names, err := ParseContainerNames(text)
		if err != nil {
			if !utf8.ValidString(err.Error()) || len(err.Error()) > 300 {
				t.Errorf("error %.400q", err)
			}
			return
		}
		for id, name := range names {
			if !isFileID(id) || len(name.Container) > 4*len(text) {
				t.Errorf("%q: %+v", id, name)
			}
			if got, found := names.Of(id); !found || got != name {
				t.Errorf("%q is not found", id)
			}
		}
		// A part of a file may name fewer containers; what it names by other lines than the cut one is the same.
		part, err := ParseContainerNames(text[:min(int(cut), len(text))])
		if err == nil && len(part) > len(names) {
			t.Errorf("%d names in a part, %d in the whole", len(part), len(names))
		}
	})
}
