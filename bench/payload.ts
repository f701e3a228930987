/** The payload of all benchmarks, about the size of a short request between two agents. */
export const PAYLOAD = {
  repo: 'acme/app',
  branch: 'fix-login-redirect',
  pull_request: 4711,
  question: `Could you look at the session handling before I merge? ${'The tests pass here. '.repeat(4)}`,
}
