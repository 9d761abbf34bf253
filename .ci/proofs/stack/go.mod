// Proof of the compose stack on a real Docker engine. A module of its own, as the other programs of the checks are: no
// part of umascope needs what it needs.
module github.com/umascope/umascope/ci/stack

go 1.26.0

replace github.com/umascope/umascope => ../../..

require (
	github.com/umascope/umascope v0.0.0-00010101000000-000000000000
	go.yaml.in/yaml/v4 v4.0.0
)
