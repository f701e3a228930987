// One of several processes that post to the shared memory of one project through the hub of a home. Arguments: HOME
// TOKEN NAME COUNT. Prints the id of every entry and decision when it is confirmed. An unconfirmed post is not retried:
// the next post has a different text, so no text may be stored twice.
import fs from 'node:fs'
import path from 'node:path'
import { setInterval as ticks } from 'node:timers/promises'

const AT_ONCE = 8
const DECIDES_EVERY = 40
const POLL_MS = 20

const [home = '', token = '', name = '', count = '0'] = process.argv.slice(2)

async function call(tool, params) {
  const { url } = JSON.parse(fs.readFileSync(path.join(home, 'hub/hub.pid'), 'utf8'))
  const response = await fetch(`${url}/call`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ tool, params }),
  })
  const answer = await response.json()
  if (response.ok) return answer.result
  // Expected while a hub stops or starts; any other error is a bug.
  if (response.status !== 503) throw new Error(`${answer.code}: ${answer.detail}`, { cause: response })
  return null
}

/** Returns null if no hub answered. */
async function confirmed(tool, params) {
  try {
    return await call(tool, params)
  } catch (error) {
    if (error.cause instanceof Response) throw error
    return null
  }
}

let begun = 0
let done = 0
async function poster() {
  while (done < Number(count)) {
    begun += 1
    const what = `${name} ${begun}`
    const post = { entry_type: 'finding', summary: what, scope: `src/${name}/`, detail: 'x'.repeat(200) }
    const result = await confirmed('twining_post', post)
    if (result === null) {
      for await (const _ of ticks(POLL_MS)) if ((await confirmed('twining_status', {})) !== null) break
      continue
    }
    done += 1
    process.stdout.write(`entry ${result.id}\n`)
    if (done % DECIDES_EVERY !== 0) continue
    const decided = await confirmed('twining_decide', {
      ...{ domain: 'implementation', scope: `src/${name}/${begun}.ts`, summary: `${what} decided` },
      ...{ context: 'It was open.', rationale: 'It is simple.', affected_files: [`src/${begun % 10}.ts`] },
    })
    if (decided !== null) process.stdout.write(`decision ${decided.id}\n`)
  }
}

await Promise.all(Array.from({ length: AT_ONCE }, poster))
