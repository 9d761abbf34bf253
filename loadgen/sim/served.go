package sim

import (
	"encoding/json"
	"net/http"
	"time"
)

// health writes an empty response or, with Dynamo's frontend, an object.
func (e *Engine) health(w http.ResponseWriter, _ *http.Request) {
	open, model := e.serves()
	if e.vendor.name == Dynamo {
		status := map[bool]string{true: "healthy", false: "unhealthy"}[model]
		sendJSON(w, http.StatusOK, map[string]any{"status": status, "endpoints": []string{}, "instances": []string{}})
		return
	}
	if !open {
		e.refuse(w, stopped())
	}
}

func (e *Engine) version(w http.ResponseWriter, _ *http.Request) {
	sendJSON(w, http.StatusOK, map[string]string{"version": "0.0.0+simulated"})
}

type modelList struct {
	Object string      `json:"object"`
	Data   []modelInfo `json:"data"`
}

type modelInfo struct {
	ID          string `json:"id"`
	Object      string `json:"object"`
	Created     int64  `json:"created"`
	OwnedBy     string `json:"owned_by"`
	MaxModelLen int    `json:"max_model_len,omitempty"` // the name of vLLM and SGLang for the context length
}

// listModels lists the model unless it is gone; the frontend of Dynamo has a list before it has a worker.
func (e *Engine) listModels(w http.ResponseWriter, _ *http.Request) {
	open, model := e.serves()
	if !open && e.vendor.name != Dynamo {
		e.refuse(w, stopped())
		return
	}
	models := modelList{"list", []modelInfo{}}
	if model {
		models.Data = append(models.Data, e.modelInfo())
	}
	sendJSON(w, http.StatusOK, models)
}

func (e *Engine) modelInfo() modelInfo {
	info := modelInfo{ID: e.config.Model, Object: "model", Created: time.Now().Unix(), OwnedBy: e.vendor.ownedBy + "-simulated"}
	if e.vendor.tellsLength {
		info.MaxModelLen = e.config.MaxModelTokens
	}
	return info
}

// retrieveModel writes the entry of one model.
func (e *Engine) retrieveModel(w http.ResponseWriter, r *http.Request) {
	open, model := e.serves()
	switch id := r.PathValue("model"); {
	case !open:
		e.refuse(w, stopped())
	case !model || id != e.config.Model:
		e.refuse(w, unknownModel(id))
	default:
		sendJSON(w, http.StatusOK, e.modelInfo())
	}
}

// tokenized is the answer of /tokenize, in vLLM's format.
type tokenized struct {
	Count       int      `json:"count"`
	MaxModelLen int      `json:"max_model_len"`
	Tokens      []uint32 `json:"tokens"`
}

// vocabularySize bounds the numbers of tokens.
const vocabularySize = 128 << 10

// tokenize counts the tokens of a prompt, or of messages with the template around them. The numbers of the tokens are
// hashes of all up to their ends: a prompt made of them has the same length, and no meaning.
func (e *Engine) tokenize(w http.ResponseWriter, r *http.Request) {
	text, p := readBody(w, r)
	if p != nil {
		e.refuse(w, p)
		return
	}
	var asked struct {
		Prompt   string    `json:"prompt"`
		Messages []message `json:"messages"`
	}
	if err := json.Unmarshal(text, &asked); err != nil {
		e.refuse(w, malformed(err))
		return
	}
	read := newScroll(1, "") // in blocks of one token, so that each has a key
	if asked.Messages != nil {
		read.chat(asked.Messages)
	} else {
		read.write(asked.Prompt)
	}
	answer := tokenized{Count: read.tokens, MaxModelLen: e.config.MaxModelTokens, Tokens: make([]uint32, read.tokens)}
	for i, key := range read.keys {
		answer.Tokens[i] = uint32(key % vocabularySize)
	}
	sendJSON(w, http.StatusOK, answer)
}

// forget empties the prefix cache on the device (vLLM: reset_prefix_cache, SGLang: flush_cache).
func (e *Engine) forget(http.ResponseWriter, *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.batch.cache.Forget()
}
