package openai

import (
	"bytes"
	"encoding/json"
	"errors"
)

// ListedModels returns the entries of the answer to GET /v1/models, which servers write in several forms. An entry is an
// object with an id or a name, or the name alone. The error is a body that is no such list.
//
//	{"object":"list","data":[{"id":"m"}]}   OpenAI
//	{"models":[{"name":"m"}]}               Ollama's form, where there is no data
//	[{"id":"m"}], ["m"]                     bare lists
func ListedModels(body []byte) ([]json.RawMessage, error) {
	list := json.RawMessage(body)
	if text := bytes.TrimSpace(body); len(text) == 0 || text[0] != '[' {
		var object struct {
			Data   json.RawMessage `json:"data"`
			Models json.RawMessage `json:"models"`
		}
		if err := json.Unmarshal(body, &object); err != nil {
			return nil, err
		}
		switch {
		case len(object.Data) > 0:
			list = object.Data
		case len(object.Models) > 0:
			list = object.Models
		default:
			return nil, errors.New("it has no member data")
		}
	}
	var entries []json.RawMessage
	if err := json.Unmarshal(list, &entries); err != nil {
		return nil, err
	}
	return entries, nil
}
