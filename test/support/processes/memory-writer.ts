// One of several processes that write the shared memory of one project. Arguments: ROOT NAME COUNT. Prints `ready`,
// starts at the first input, and prints each id when its record is confirmed.
import { once } from 'node:events'
import { openProjectRecords } from '../../../src/storage/file/project/project-records.ts'

/** Number of concurrent entries. */
export const AT_ONCE = 8

if (process.argv[1]?.includes('memory-writer') === true) {
  const [root = '', name = '', count = '0'] = process.argv.slice(2)
  const store = openProjectRecords({ root })
  const confirm = async (kind: string, id: string, fields: object = {}) => {
    await store.put(kind, id, { id, by: name, ...fields })
    process.stdout.write(`${kind} ${id}\n`)
  }

  process.stdout.write('ready\n')
  await once(process.stdin, 'data')
  for (let turn = 0; turn < Number(count); turn += AT_ONCE) {
    const ids = Array.from({ length: AT_ONCE }, (_, one) => `${name}-${turn + one}`)
    await Promise.all([
      ...ids.map((id) => confirm('entry', id, { summary: 'x'.repeat(400) })),
      confirm('entity', `${name}-${turn}`),
      ...(turn % (AT_ONCE * 4) === 0 ? [confirm('decision', `${name}-${turn}`, { summary: 'why' })] : []),
    ])
  }
  process.stdin.destroy()
}
