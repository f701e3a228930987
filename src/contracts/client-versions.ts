/** Which versions of an agent client turnbell can reach. */

/** The API of another major version is another one. */
const OPENCODE_MAJOR = 1

/** What is wrong with a version of opencode, as it tells it itself; null for one that can be rung. */
export function opencodeVersionFault(version: string): string | null {
  if (Number.parseInt(version, 10) === OPENCODE_MAJOR) return null
  return `opencode ${version} has another API than ${OPENCODE_MAJOR}.x, which is what turnbell can ring`
}
