package metric

// ForeignPagePrefixes are what the series of engines and KV block managers begin with, in the order in
// which they matter to a run: what a load generator keeps of a page that it reads itself.
func ForeignPagePrefixes() []string {
	return []string{
		"kvbm_", "dynamo_kvbm_", ForeignVLLMPrefix, ForeignTensorRTLLMPrefix, ForeignSGLangPrefix, ForeignLMCachePrefix,
		ForeignLlamaCPPPrefix, ForeignDynamoFrontendPrefix, ForeignDynamoWorkerPrefix, "agent_",
	}
}

// ForeignCacheCounters are the series by which evidence of a prefix cache is graded, and how much the cache holds. They
// are kept first of a page that has more series than there is room for.
func ForeignCacheCounters() []string {
	return []string{
		ForeignVLLMCachedBySource, ForeignVLLMPrefixHits, ForeignVLLMGPUPrefixHits, ForeignVLLMExternalHits,
		VLLMPromptTokensTotal.Def().Name, ForeignVLLMCacheConfigInfo,
		ForeignTensorRTLLMHitTokens, ForeignTensorRTLLMCachedTokens, ForeignTensorRTLLMPromptTokens,
		ForeignTensorRTLLMMaxBlocks, ForeignTensorRTLLMTokensPerBlock,
		ForeignSGLangCachedTokens, ForeignSGLangPromptTokens, ForeignSGLangMaxTokens, ForeignSGLangKVGigabytes,
		ForeignLlamaCPPPromptTokens, ForeignLlamaCPPCachedTokens,
		ForeignDynamoInputTokensSum, ForeignDynamoInputTokensCount, ForeignDynamoCachedTokensSum, ForeignDynamoCachedTokensCount,
		ForeignDynamoModelBlocks, ForeignDynamoModelBlockSize, ForeignDynamoWorkerRegistered,
	}
}

// ForeignExportedPrefix is prepended to a label of a page whose name has another meaning here, as Prometheus does it.
const ForeignExportedPrefix = "exported_"
