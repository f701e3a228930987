/** Waits until turnbell's MCP server has started in a thread. An agent without its tools could not drain. */
import { AppServerError, OVERLOADED, type AppServer } from './app-server.ts'
import * as z from 'zod'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import type { Clock } from '../../src/ports/clock.ts'
import type { Log } from '../../src/ports/log.ts'
import { pause } from '../../src/ports/pause.ts'

/**
 * Resolves when the MCP server has started or failed to, or when `isCurrent` no longer holds after an attempt. An
 * overloaded app-server is retried for `codex_start_ms`. Never rejects.
 */
export async function waitForTools(
  server: AppServer,
  threadId: string,
  { clock, log, isCurrent }: { clock: Clock; log: Log; isCurrent: () => boolean },
): Promise<void> {
  const until_ms = clock.monotonic() + LIMITS.codex_start_ms
  const params = { threadId, serverName: 'turnbell', detail: 'toolsAndAuthOnly' }
  while (isCurrent()) {
    try {
      // Answered when the MCP server has started or failed.
      await server.call('mcpServerStatus/list', params, z.unknown(), LIMITS.codex_start_ms)
      return
    } catch (error) {
      const is_overloaded = error instanceof AppServerError && error.code === OVERLOADED
      if (!is_overloaded || clock.monotonic() >= until_ms) {
        if (isCurrent())
          log.warn(
            { err: error, thread_id: threadId },
            "turnbell's tools did not start; thread is rung anyway",
          )
        return
      }
    }
    await pause(clock, LIMITS.codex_search_retry_ms)
  }
}
