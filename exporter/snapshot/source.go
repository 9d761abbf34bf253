package snapshot

import (
	"errors"
	"fmt"
)

// maxSources is the maximum number of sources of a kind in a header.
const maxSources = 64

// keyBlockBytes is the key of a header that gives the size of a KV block.
const keyBlockBytes = "kvbm_bytes_per_block"

// sourceKind is a repeatable key of the header, with the list of its values.
type sourceKind struct {
	key  string
	list *[]string
}

func (a *Archive) sources() []sourceKind {
	return []sourceKind{{"kvbm_url", &a.KVBMURLs}, {"engine_url", &a.EngineURLs}, {"kvbm_log", &a.KVBMLogs}}
}

// addSource adds a value of the header to the list of its key.
func (a *Archive) addSource(key, value string) error {
	for _, kind := range a.sources() {
		switch {
		case kind.key != key:
		case value == "":
			return errors.New("names nothing")
		case len(*kind.list) == maxSources:
			return fmt.Errorf("is there more than %d times", maxSources)
		default:
			*kind.list = append(*kind.list, value)
			return nil
		}
	}
	return fmt.Errorf("%.40q is no key of a header", key)
}
