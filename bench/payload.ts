/** What the signals of all benchmarks say: about what a short request between two agents is. */
export const PAYLOAD = {
  repo: 'acme/app',
  branch: 'fix-login-redirect',
  pull_request: 4711,
  question: `Could you look at the session handling before I merge? ${'The tests pass here. '.repeat(4)}`,
}
