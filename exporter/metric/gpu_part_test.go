package metric

import "testing"

func TestAPartIsFoundByItsWholeName(t *testing.T) {
	if part, known := FindGPUPart("NVIDIA GB10"); !known || part.BytesPerSecond != 273e9 {
		t.Errorf("%+v", part)
	}
	if part, known := FindGPUPart("NVIDIA H100"); known {
		t.Errorf("an H100 of unknown form is %+v", part)
	}
	seen := map[string]bool{}
	for _, part := range GPUParts() {
		if seen[part.Name] || part.BytesPerSecond < 100e9 || part.BytesPerSecond > 10e12 {
			t.Errorf("%+v", part)
		}
		seen[part.Name] = true
	}
}
