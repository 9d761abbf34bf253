//go:build race

package docs

// raceDetector says whether this is a test under the race detector.
const raceDetector = true
