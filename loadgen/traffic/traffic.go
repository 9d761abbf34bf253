// Package traffic is what requests contain and when they start: prompts and conversations, generated or from the user's
// files, and arrival processes.
//
// Both are pure functions of seed, stream and index, the same on every machine, so that a run can be repeated, split or
// resumed without keeping its prompts.
//
// No tokenizer is linked: no single format exists that lets a small static program load the tokenizer of every model.
// Instead, texts are built of short common words, most of which are one token in the vocabularies in use, and a
// TokenScale converts them to the server's own counts.
//
// A planned offset is the intended start of a request, never the actual one: the delay that a busy server or a slow
// client adds is measured against it.
//
// Several processes can share a load. They do not communicate: each computes the same plan from the same flags and sends
// the requests of its rank, timed from one moment on the wall clock.
package traffic
