package openai

import (
	"crypto/sha256"
	"encoding/hex"
)

// saltBytes is how many bytes of the hash a salt has: enough that two salts never collide by chance.
const saltBytes = 16

// CacheSalt returns the value of cache_salt that separates, in a prefix cache, what one run sends for one use. It is a
// hash, because vLLM takes at most 128 characters, none of them @, / or \.
func CacheSalt(run, use string) string {
	sum := sha256.Sum256([]byte(run + "\x00" + use))
	return "uma-" + hex.EncodeToString(sum[:saltBytes])
}
