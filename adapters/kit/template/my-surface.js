/**
 * A minimal surface for a client that can queue a message and that reports when its turns begin and end. Replace
 * `client` with yours; every surface needs the rules in this file.
 */
const DEFERRED = { accepted: false, proof: 'deferred' }
const UNAVAILABLE = { accepted: false, proof: 'unavailable' }

/**
 * `client` has:
 * - `queue(text)`: rejects if the message could not be queued
 * - `onThere(call)`: at the start and after every reconnect, with the `session_id` and whether it is `busy`
 * - `onTurnBegun(call)`: with the texts that began the turn
 * - `onTurnEnded(call)` and `onGone(call)`
 *
 * `began_ms` is the start time of the shim.
 */
export function mySurface(client, began_ms) {
  let host = null
  // No session exists before the client reports one. Turn numbers start with the time, because they must not decrease
  // when a killed shim is restarted.
  let state = { session_id: null, turn: 'unknown', turn_seq: began_ms }
  /** Doorbells that were queued and not yet seen in a turn. */
  let given = []

  // With `absent` the daemon counts the persona as one without a surface, and senders are informed.
  const status = () => ({
    surface: 'mcp',
    delivery: 'push',
    ...state,
    ...(state.session_id === null && { absent: true }),
  })
  function move(change) {
    state = { ...state, ...change }
    void host?.report(status())
  }

  client.onThere(({ session_id, busy }) =>
    move({ session_id, turn: busy ? 'busy' : 'idle', turn_seq: state.turn_seq + Number(busy) }),
  )
  client.onTurnBegun((texts) => {
    const seen = given.findLast(({ text }) => texts.includes(text))
    given = given.filter((bell) => bell !== seen)
    const receipt = seen === undefined ? {} : { seen_doorbell_id: seen.doorbell_id }
    move({ turn: 'busy', turn_seq: state.turn_seq + 1, ...receipt })
  })
  client.onTurnEnded(() => move({ turn: 'idle' }))
  client.onGone(() => move({ session_id: null, turn: 'unknown' }))

  return {
    /** Reports every change to `daemon`, the return value of `serveSurface`. */
    open(daemon) {
      host = daemon
    },
    async notify_surface({ doorbell_id, text }) {
      if (state.session_id === null) return UNAVAILABLE
      if (state.turn !== 'idle') return DEFERRED
      try {
        // Recorded before the call, because the turn may begin before it returns.
        given = [...given, { doorbell_id, text }].slice(-4)
        await client.queue(text)
        return { accepted: true, proof: 'sent' }
      } catch {
        return { accepted: false, proof: 'failed' }
      }
    },
    async resume_surface() {
      void host?.report(status())
    },
    status: async () => status(),
  }
}
