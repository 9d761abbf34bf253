package plan

import (
	"slices"
	"strings"
	"testing"
)

const secretPlan = `schema: umascope.plan/1
name: c  # the token is hf_Ab3dEf6hIj9k
models: [{name: m, values: {ngc_api_key: "nvapi-Zz9Yy8Xx7Ww6"}}]
arms:
  - name: a
    processes:
      - name: engine
        argv: [docker, run, -e, "WANDB_API_KEY=wandb-11223344", "--env=NGC_KEY={{.ngc_api_key}}", --api-key, sk-served-123456, "--header=Authorization: Bearer bear-1234567", image, --port, "8000"]
        env:
          HF_TOKEN: hf_Ab3dEf6hIj9k
          QUOTED_SECRET: "it's \"quoted\" 1"
          PASSWORD: hunt3r
          FOLDED_KEY: >-
            folded
            secret
          TOKENIZERS_PARALLELISM: "false"
          HTTPS_PROXY: http://me:proxy-pass-1@proxy:3128
          KEY_FILE: /etc/keys/one
  - {name: b, processes: [{name: engine, argv: [serve]}]}
scenarios:
  - {name: s, run: {requests: 1, header: "X-Api-Key: scenario-key-1", max-input-tokens: 4096}}
`

func TestThePlansSecretsAreFoundWhereverTheyStand(t *testing.T) {
	p, err := Parse("plan.yaml", []byte(secretPlan))
	if err != nil {
		t.Fatal(err)
	}
	got := p.Secrets()
	for _, secret := range []string{
		"nvapi-Zz9Yy8Xx7Ww6", "wandb-11223344", "sk-served-123456", "bear-1234567", "hf_Ab3dEf6hIj9k", `it's "quoted" 1`, "folded secret", "proxy-pass-1", "scenario-key-1",
	} {
		if !slices.Contains(got, secret) {
			t.Errorf("%q is not found: %q", secret, got)
		}
	}
	for _, plain := range []string{"8000", "false", "image", "4096", "/etc/keys/one"} {
		if slices.Contains(got, plain) {
			t.Errorf("%q is taken for a secret", plain)
		}
	}
}

func TestACopyOfAPlanHasNoSecretAndCanBeRead(t *testing.T) {
	for name, text := range map[string]string{
		"all":                    secretPlan,
		"none that is written":   strings.NewReplacer("PASSWORD: hunt3r", "X: y", "folded\n            secret", "foldedsecret").Replace(secretPlan),
		"nothing that is hidden": "schema: umascope.plan/1\nname: c\nmodels: [{name: m}]\narms: [{name: a, processes: [{argv: [serve]}]}]\nscenarios: [{name: s, run: {requests: 1}}]\n",
	} {
		p, err := Parse("plan.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		hidden := Hide([]byte(text), p.Secrets())
		for _, secret := range append(p.Secrets(), "hunt3r", "proxy-pass", "quoted") {
			if secret != "quoted" && strings.Contains(string(hidden), secret) || strings.Contains(string(hidden), "it's") {
				t.Errorf("%s: %q is in the copy: %s", name, secret, hidden)
			}
		}
		again, err := Parse("plan.yaml", hidden)
		if err != nil {
			t.Errorf("%s: %v: %s", name, err, hidden)
			continue
		}
		if len(again.Arms) != len(p.Arms) || again.Arms[0].Name != "a" || len(again.Arms[0].Processes[0].Argv) != len(p.Arms[0].Processes[0].Argv) {
			t.Errorf("%s: %+v", name, again.Arms)
		}
		if len(p.Secrets()) == 0 && string(hidden) != text {
			t.Errorf("%s: changed to %s", name, hidden)
		}
	}
}

// FuzzHide plants a value in a plan, as text of YAML, and looks for it in the copy.
func FuzzHide(f *testing.F) {
	f.Add("sk-0123456789")
	f.Add(`"a\x62cdefgh: ij"`)
	f.Add("|\n          block\n          of lines")
	f.Fuzz(func(t *testing.T, value string) {
		text := strings.Replace(secretPlan, "PASSWORD: hunt3r", "PASSWORD: "+value, 1)
		p, err := Parse("plan.yaml", []byte(text))
		if err != nil {
			return
		}
		secret := p.Arms[0].Processes[0].Env["PASSWORD"]
		if len(secret) < leastSecret || !slices.Contains(p.Secrets(), secret) || strings.Contains(Hidden, secret) {
			return
		}
		again, err := Parse("plan.yaml", Hide([]byte(text), p.Secrets()))
		if err != nil {
			return // the secret is a part of the plan's own words
		}
		if left := again.Arms[0].Processes[0].Env["PASSWORD"]; strings.Contains(left, secret) {
			t.Errorf("%q is %q in the copy", secret, left)
		}
	})
}
