// Comparison of exporters. A module of its own because no part of umascope needs it.
module github.com/umascope/umascope/ci/compare

go 1.26
