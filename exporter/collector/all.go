package collector

// All lists the collectors. A collector must be listed here to run.
func All() []Spec {
	return []Spec{
		hostSpec(), memorySpec(), gpuSpec(), cgroupSpec(), processSpec(), kvbmSpec(), engineSpec(), cufileSpec(),
		nvmeSpec(), diskSpec(), thermalSpec(), networkSpec(), pcieSpec(),
	}
}
