/**
 * A surface to begin with: a client that can be handed a message, and that tells when its turns begin and
 * end. Replace `client` by yours; the rules in here are what every surface needs.
 */
const DEFERRED = { accepted: false, proof: 'deferred' }
const UNAVAILABLE = { accepted: false, proof: 'unavailable' }

/**
 * `client` has `queue(text)` (rejects where the message could not be handed over), `onThere(call)` with the
 * `session_id` and whether it is `busy`, at first and whenever it is back, `onTurnBegun(call)` with the texts that
 * the turn was begun by, `onTurnEnded(call)` and `onGone(call)`. `began_ms` is the time at which the shim began.
 */
export function mySurface(client, began_ms) {
  let host = null
  // Nobody is there before the client says so. A shim that was killed and started again must not count from
  // the beginning.
  let state = { session_id: null, turn: 'unknown', turn_seq: began_ms }
  /** Bells that were handed over and not yet seen in a turn. */
  let given = []

  // With nobody there the persona's daemon counts no surface, and says so to whoever sends.
  const status = () => ({
    ...{ surface: 'mcp', delivery: 'push' },
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
    /** Tells `daemon`, which is what `serveSurface` returns, of every change from now on. */
    open(daemon) {
      host = daemon
    },
    async notify_surface({ doorbell_id, text }) {
      if (state.session_id === null) return UNAVAILABLE
      if (state.turn !== 'idle') return DEFERRED
      try {
        // Before the client has it: its turn may begin before the call returns.
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
