package metric

// ForeignPagePrefixes are what the series of engines and KV block managers begin with, in the order in
// which they matter to a run: what a load generator keeps of a page that it reads itself.
func ForeignPagePrefixes() []string {
	return []string{
		"kvbm_", "dynamo_kvbm_", ForeignVLLMPrefix, ForeignTensorRTLLMPrefix, ForeignSGLangPrefix, ForeignLMCachePrefix,
		ForeignLlamaCPPPrefix, ForeignDynamoFrontendPrefix, ForeignDynamoWorkerPrefix, "agent_",
	}
}

// ForeignExportedPrefix stands before a label of a page whose name we give another meaning, as Prometheus
// does it.
const ForeignExportedPrefix = "exported_"
