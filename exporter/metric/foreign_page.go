package metric

// ForeignPagePrefixes are the prefixes of the series of engines and KV block managers, in the order of their importance
// to a run: a load generator keeps these series of a page that it reads itself.
func ForeignPagePrefixes() []string {
	return []string{
		"kvbm_", "dynamo_kvbm_", ForeignVLLMPrefix, ForeignTensorRTLLMPrefix, ForeignSGLangPrefix, ForeignLMCachePrefix,
		ForeignLlamaCPPPrefix, ForeignDynamoFrontendPrefix, ForeignDynamoWorkerPrefix, "agent_",
	}
}

// ForeignCacheCounters are the series that grade the evidence of a prefix cache, and how much the cache holds. They are
// kept first of a page with more series than the limit.
func ForeignCacheCounters() []string {
	return []string{
		ForeignVLLMCachedBySource, ForeignVLLMPrefixHits, ForeignVLLMGPUPrefixHits, ForeignVLLMExternalHits, ForeignVLLMOffloadedBytes,
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
