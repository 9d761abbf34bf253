package main

// queriesWithout are queries and variables of dashboards that have no data here, each with why that must be so. One
// that has data all the same, or that no dashboard has, fails the proof: the list does not outlive its reasons.
func queriesWithout() map[string]string {
	return map[string]string{}
}

// namesWithout are series that rules read and nothing here has.
func namesWithout() map[string]string {
	return map[string]string{}
}
