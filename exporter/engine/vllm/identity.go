package vllm

import (
	"bytes"
	"encoding/json"
	"regexp"
)

const tokenizePath = "/tokenize"

// manner recognizes the errors of a server in Python with wrapped objects, which list missing fields.
func manner(body []byte) string {
	var answer struct {
		Object string          `json:"object"`
		Error  json.RawMessage `json:"error"`
	}
	_ = json.Unmarshal(body, &answer) // text that is not JSON has neither
	if bytes.Contains(body, []byte("'missing'")) && answer.Object != "error" && len(answer.Error) > 0 {
		return "its errors are wrapped objects of FastAPI"
	}
	return ""
}

// fingerprint reads the system_fingerprint of 0.32, such as vllm-0.32.0-30e88cc7. Gateways pass it on.
func fingerprint(text string) (version string, is bool) {
	parts := regexp.MustCompile(`^vllm-([0-9][0-9A-Za-z.+]{0,63})(-[0-9a-f]{1,64})?$`).FindStringSubmatch(text)
	if parts == nil {
		return "", false
	}
	return parts[1], true
}
