/**
 * Installs the agent clients that `npm run test:clients` drives into the ignored folder `.clients/`.
 * They are hundreds of megabytes, so they are never dependencies.
 */
import { fetchPackages } from './fetch-packages.mjs'

/** Exactly the versions the captured payloads under test/fixtures/ come from. */
fetchPackages('.clients', {
  '@anthropic-ai/claude-code': '2.1.329',
  '@openai/codex': '0.169.0',
  'opencode-ai': '1.18.33',
  // Installed by opencode itself where it is missing; without a network it would wait for that.
  '@opencode-ai/plugin': '1.18.33',
})
