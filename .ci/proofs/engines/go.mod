// Proof against real engines. A module of its own, without dependencies: what judges umascope shares no code with it.
module github.com/umascope/umascope/ci/proofs/engines

go 1.26.0
