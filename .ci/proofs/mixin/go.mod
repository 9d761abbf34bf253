// The mixins are evaluated by the jsonnet of Google. Nothing of it is linked into the programs.
module github.com/umascope/umascope/.ci/proofs/mixin

go 1.26.0

require (
	github.com/google/go-jsonnet v0.21.0
	sigs.k8s.io/yaml v1.6.0
)

require (
	go.yaml.in/yaml/v2 v2.4.2 // indirect
	golang.org/x/crypto v0.36.0 // indirect
	golang.org/x/sys v0.31.0 // indirect
)
