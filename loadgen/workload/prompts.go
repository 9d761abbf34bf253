package workload

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/umascope/umascope/loadgen/traffic"
)

// completions is the endpoint that takes one text.
const completions = "completions"

// Sets of prompts.
const (
	promptsShort = "short"
	promptsLong  = "long"
	promptsMixed = "mixed"
)

// PromptSets returns the values of --prompts that are sets, not files.
func PromptSets() []string { return []string{promptsShort, promptsLong, promptsMixed} }

// resolvePrompts reads the user's files first, so that an error in one is reported early.
func (s *Settings) resolvePrompts() error {
	switch {
	case s.inputTokens != nil && s.Prompts == promptsMixed:
		return errors.New("--input-tokens: mixed prompts have two lengths of their own; use --prompts short or long")
	case s.inputTokens != nil && !slices.Contains(PromptSets(), s.Prompts):
		return errors.New("--input-tokens: the prompts of a file have the lengths that they have; --max-input-tokens with --clip cuts them")
	}
	if !slices.Contains(PromptSets(), s.Prompts) {
		if err := s.readPrompts(traffic.Assumption()); err != nil {
			return err
		}
	}
	if s.PromptIDs {
		return s.checkIDs()
	}
	return s.resolveTemplate()
}

// checkIDs refuses settings that need a text.
func (s *Settings) checkIDs() error {
	switch {
	case s.endpoint != completions:
		return errors.New("--prompt-ids: the chat endpoint takes messages; add --endpoint completions")
	case s.templateFlag != traffic.TemplateNone:
		return errors.New("--prompt-ids: a template makes a text of messages, and token ids are neither")
	case s.file != nil:
		return errors.New("--prompt-ids: the prompts of a file are texts; use --prompts short, long or mixed")
	}
	return nil
}

// readPrompts reads the prompt file with the given scale.
func (s *Settings) readPrompts(scale traffic.TokenScale) error {
	var err error
	if s.file, err = traffic.ReadPromptFile(s.Prompts, scale, s.Seed); err != nil {
		return fmt.Errorf("--prompts: %s: %w (want %s or a file)", s.Prompts, err, strings.Join(PromptSets(), ", "))
	}
	return nil
}

// resolveTemplate reads the template.
func (s *Settings) resolveTemplate() error {
	if s.templateFlag == traffic.TemplateNone {
		return nil
	}
	if s.endpoint != completions {
		return errors.New("--template: the chat endpoint applies the model's own; add --endpoint completions")
	}
	var err error
	if s.templateName = s.templateFlag; s.templateFlag == traffic.TemplateLlama3 {
		s.template, err = traffic.Llama3()
		return err
	}
	source, err := os.ReadFile(s.templateFlag)
	if err != nil {
		return fmt.Errorf("--template: %w", err)
	}
	if s.template, err = traffic.ParseTemplate(string(source)); err != nil {
		return fmt.Errorf("--template: %s: %w", s.templateFlag, err)
	}
	s.templateName = hexSHA256(source)
	return nil
}

// promptSet returns the set that prompts are made from, without their lengths.
func (s *Settings) promptSet(scale traffic.TokenScale) traffic.PromptSet {
	return traffic.PromptSet{Seed: s.Seed, Key: s.PromptKey, SharedTokens: s.sharedTokens, Scale: scale}
}

// lengthsOf returns the lengths of prompts in tokens. Long prompts follow the range that KV-tier studies of
// unified-memory machines use.
func lengthsOf(s *Settings) []traffic.Lengths {
	short, long := traffic.Lengths{Min: 512, Max: 2048}, traffic.Lengths{Min: 8192, Max: 32768}
	switch {
	case s.inputTokens != nil:
		return []traffic.Lengths{*s.inputTokens}
	case s.Prompts == promptsLong:
		return []traffic.Lengths{long}
	case s.Prompts == promptsMixed:
		return []traffic.Lengths{short, long}
	default:
		return []traffic.Lengths{short}
	}
}

func parseLengths(s string) (*traffic.Lengths, error) {
	lengths, err := traffic.ParseLengths(s)
	return &lengths, err
}

// parseCap reads the caps of outputs, N or MIN:MAX.
func parseCap(s string) (traffic.Lengths, error) {
	lengths, err := traffic.ParseLengths(s)
	if err == nil && strings.Contains(s, ",") {
		err = fmt.Errorf("%q is neither N nor MIN:MAX", s)
	}
	return lengths, err
}

// Template makes one text of messages; nil if the server applies the template.
func (s *Settings) Template() *traffic.Template { return s.template }
