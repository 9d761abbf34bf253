package loadgen

import "fmt"

// linuxVerbs returns the verbs that work on Linux only, by full name, each with the reason and what to do instead. The
// others, which are clients of servers or read folders, work on every system that the program is built for.
func linuxVerbs() map[string]string {
	const arms = "an arm is started and stopped by /proc and signals of the machine that it is on; run it there"
	return map[string]string{
		"arm up": arms, "arm down": arms, "arm status": arms, "arm logs": arms,
		"campaign run": arms, "campaign stop": arms,
		"campaign install": "it writes a systemd unit; run it on the machine of the campaign",
		"hosts":            "it reads links from /sys; on macOS, dns-sd -B _ssh._tcp lists the machines of the local network",
		guardianVerbName:   arms,
	}
}

// checkSystem returns an error for a verb that does not work on an operating system, named as by Go.
func checkSystem(verb, system string) error {
	if reason, is := linuxVerbs()[verb]; is && system != "linux" {
		return fmt.Errorf("%s needs Linux: %s", verb, reason)
	}
	return nil
}
