/**
 * A minimal agent for the `command` surface: one process is one turn. It reads the doorbell from stdin, drains until
 * the queue is empty, records the signals before it confirms them, and exits.
 */
import fs from 'node:fs'
import path from 'node:path'

const { TURNBELL_HOME: home, TURNBELL_PERSONA: persona, TURNBELL_SESSION_ID: session_id } = process.env
const [log] = process.argv.slice(2)

const note = (entry) =>
  fs.appendFileSync(log, `${JSON.stringify({ pid: process.pid, session_id, ...entry })}\n`)

const doorbell = JSON.parse(fs.readFileSync(0, 'utf8'))
note({ kind: 'turn_started', doorbell_id: doorbell.doorbell_id, pending_count: doorbell.pending_count })

try {
  const { url } = JSON.parse(fs.readFileSync(path.join(home, 'hub/hub.pid'), 'utf8'))
  const operator = fs.readFileSync(path.join(home, 'secrets/operator.token'), 'utf8').trim()
  const { token } = await post(`${url}/auth/token`, operator, {
    identity: persona,
    kind: 'agent',
    session_id,
  })
  let drain_id = null
  for (;;) {
    const drained = await post(`${url}/api/signals/pending`, token, {
      limit: 100,
      ...(drain_id ? { confirm: drain_id } : {}),
    })
    for (const { signal_id, deliveries } of drained.signals) note({ kind: 'drained', signal_id, deliveries })
    drain_id = drained.drain_id
    if (drained.signals.length === 0) break
  }
  note({ kind: 'turn_ended' })
} catch (error) {
  // If the hub is down the turn ends without a drain; the waiting signals ring again.
  note({ kind: 'turn_ended', failed: String(error) })
}

async function post(url, token, body) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const answer = await response.json()
  if (!response.ok) throw new Error(`${response.status} ${JSON.stringify(answer)}`)
  return answer
}
