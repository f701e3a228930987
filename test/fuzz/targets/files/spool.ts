/** Fuzzes spool lines, which any process of the user may write. */
import { describeParams } from '../../../../src/contracts/validation/describe-issues.ts'
import { parseJsonOrNull } from '../../../../src/contracts/validation/json.ts'
import { Spooled } from '../../../../src/contracts/spool/spool.ts'
import { openSpool } from '../../../../src/storage/file/spool/spool.ts'
import { createIds } from '../../../../src/system/random.ts'
import { fakeClock, seededRandom } from '../../../support/fakes/fake-clock.ts'
import { eachLine } from '../../../support/each-line.ts'
import { MemoryDisk } from '../../../support/disk/memory-disk.ts'
import { linesOf } from '../../seeds.ts'
import { insist, type Target } from '../../target.ts'

const HOME = '/hub/spool'

export const spool: Target = {
  name: 'spool',
  promise: 'each line in the spool is taken or refused once, whatever stands around it',
  share: 3,

  open() {
    const clock = fakeClock()
    return {
      seeds: [...linesOf(Spooled, 20), `${linesOf(Spooled, 3).join('\n')}\n\n{"half`, '\r\n\r\n\u0000\n'],
      async attempt(input) {
        const disk = new MemoryDisk()
        disk.put(`${HOME}/hooks.jsonl`, Buffer.concat([input, Buffer.from('\n')]))
        const ids = createIds(clock, seededRandom())
        const handed: string[] = []
        const one = openSpool({ directory: HOME, clock, ids, disk })
        const counts = await one.consume(
          eachLine(async (line) => {
            handed.push(line)
            const said = parseJsonOrNull(line)
            const read = Spooled.safeParse(said)
            return read.success ? 'taken' : { refused: describeParams(Spooled, said, read.error, 'the line') }
          }),
        )
        await one.close()
        const left = input
          .toString()
          .split('\n')
          .filter((line) => line.trim() !== '')
        insist(
          counts.taken + counts.refused === left.length,
          () => `${left.length} lines, ${counts.taken} taken, ${counts.refused} refused`,
        )
        const again = openSpool({ directory: HOME, clock, ids, disk })
        const more = await again.consume(eachLine(async () => 'taken'))
        await again.close()
        insist(more.taken + more.refused === 0, () => 'lines were handed out a second time')
        return `${Math.min(counts.taken, 3)} ${Math.min(counts.refused, 3)}`
      },
    }
  },
}
