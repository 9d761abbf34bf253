package loadgen

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/umascope/umascope/loadgen/prompt"
)

// completions stands for the endpoint that takes one text.
const completions = "completions"

// promptSets are the words of --prompts that name no file.
func promptSets() []string { return []string{promptsShort, promptsLong, promptsMixed} }

// resolvePrompts reads the user's files, so that a mistake in one is known before anything else is
// done.
func (s *settings) resolvePrompts() error {
	switch {
	case s.inputTokens != nil && s.prompts == promptsMixed:
		return errors.New("--input-tokens: mixed prompts have two lengths of their own; use --prompts short or long")
	case s.inputTokens != nil && !slices.Contains(promptSets(), s.prompts):
		return errors.New("--input-tokens: the prompts of a file have the lengths that they have; --max-input-tokens with --clip cuts them")
	}
	if !slices.Contains(promptSets(), s.prompts) {
		if err := s.readPrompts(prompt.Assumption()); err != nil {
			return err
		}
	}
	return s.resolveTemplate()
}

// readPrompts reads the prompt file with the given scale.
func (s *settings) readPrompts(scale prompt.Scale) error {
	var err error
	if s.file, err = prompt.ReadFile(s.prompts, scale, s.seed); err != nil {
		return fmt.Errorf("--prompts: %s: %w (want %s or a file)", s.prompts, err, strings.Join(promptSets(), ", "))
	}
	return nil
}

// resolveTemplate reads the template.
func (s *settings) resolveTemplate() error {
	if s.templateFlag == prompt.TemplateNone {
		return nil
	}
	if s.target.endpoint != completions {
		return errors.New("--template: the chat endpoint applies the model's own; add --endpoint completions")
	}
	var err error
	if s.templateName = s.templateFlag; s.templateFlag == prompt.TemplateLlama3 {
		s.template, err = prompt.Llama3()
		return err
	}
	source, err := os.ReadFile(s.templateFlag)
	if err != nil {
		return fmt.Errorf("--template: %w", err)
	}
	if s.template, err = prompt.ParseTemplate(string(source)); err != nil {
		return fmt.Errorf("--template: %s: %w", s.templateFlag, err)
	}
	s.templateName = hexSHA256(source)
	return nil
}

// resolveScenario lets the scenario have its say, last.
func (s *settings) resolveScenario() error {
	if err := s.scenario.resolve(s); err != nil {
		return err
	}
	switch {
	case s.sets == nil && s.fitPressure != 0:
		return fmt.Errorf("--fit-pressure: --scenario %s has no pressure", s.scenario.name)
	case s.sets == nil && s.force:
		return fmt.Errorf("--force: --scenario %s refuses nothing that it could force", s.scenario.name)
	case s.sets == nil && s.bursts.count == 0:
		return s.applySizes(nil)
	}
	return nil
}

// promptSet is the set that prompts are made of, but for their lengths.
func (s *settings) promptSet(scale prompt.Scale) prompt.Set {
	return prompt.Set{Seed: s.seed, SharedTokens: s.sharedTokens, Scale: scale}
}

// lengthsOf are the lengths that prompts are made with, in tokens. Long ones follow the range that
// KV-tier studies of unified-memory machines use.
func lengthsOf(s *settings) []prompt.Lengths {
	short, long := prompt.Lengths{Min: 512, Max: 2048}, prompt.Lengths{Min: 8192, Max: 32768}
	switch {
	case s.inputTokens != nil:
		return []prompt.Lengths{*s.inputTokens}
	case s.prompts == promptsLong:
		return []prompt.Lengths{long}
	case s.prompts == promptsMixed:
		return []prompt.Lengths{short, long}
	default:
		return []prompt.Lengths{short}
	}
}

func parseLengths(s string) (*prompt.Lengths, error) {
	lengths, err := prompt.ParseLengths(s)
	return &lengths, err
}

// parseCap reads the caps of outputs, N or MIN:MAX.
func parseCap(s string) (prompt.Lengths, error) {
	lengths, err := prompt.ParseLengths(s)
	if err == nil && strings.Contains(s, ",") {
		err = fmt.Errorf("%q is neither N nor MIN:MAX", s)
	}
	return lengths, err
}
