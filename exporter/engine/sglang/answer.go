package sglang

import "github.com/umascope/umascope/exporter/engine/spec"

// answer has the object that the fields return_cached_tokens_details and return_spec_tokens_details ask for. Its correct and
// proposed drafts are tokens:
//
//	{"sglext":{"cached_tokens_details":{"device":32,"host":16},
//	 "spec_tokens_details":{"spec_num_correct_drafts":14,"spec_num_proposed_drafts":24,"spec_verify_ct":8}}}
func answer() []spec.AnswerCount {
	const object, cached, drafts = "sglext", "cached_tokens_details", "spec_tokens_details"
	return []spec.AnswerCount{
		{Of: spec.AnsweredCachedDevice, Path: []string{object, cached, "device"}},
		{Of: spec.AnsweredCachedHost, Path: []string{object, cached, "host"}},
		{Of: spec.AnsweredCachedStorage, Path: []string{object, cached, "storage"}},
		{Of: spec.AnsweredAccepted, Path: []string{object, drafts, "spec_num_correct_drafts"}},
		{Of: spec.AnsweredDrafted, Path: []string{object, drafts, "spec_num_proposed_drafts"}},
		{Of: spec.AnsweredDrafts, Path: []string{object, drafts, "spec_verify_ct"}},
	}
}
