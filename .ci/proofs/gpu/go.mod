// The proof on a real GPU. A module of its own: it reads the results of umascope with none of umascope's code.
module github.com/umascope/umascope/ci/proofs/gpu

go 1.26
