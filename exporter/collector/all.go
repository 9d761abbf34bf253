package collector

// All lists the collectors: the table of contents. A collector that is not here does not exist.
func All() []Spec {
	return []Spec{
		hostSpec(), memorySpec(), gpuSpec(), cgroupSpec(), processSpec(), kvbmSpec(), engineSpec(), cufileSpec(),
		nvmeSpec(), thermalSpec(), networkSpec(),
	}
}
