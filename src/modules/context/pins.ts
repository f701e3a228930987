/** Pinned texts, which every agent of a project reads at the start of its session. */
import { Pin, PIN_KIND, type PinInput, type UnpinInput } from '../../contracts/memory/context.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { KeptRecord } from '../../contracts/memory/records.ts'
import { inOneProject, type MemoryCall } from '../memory/memory-resolver.ts'
import { everyRecord } from '../records/every.ts'
import type { Records } from '../records/service.ts'

export type PinRecords = Pick<Records, 'put' | 'get' | 'query' | 'close'>

export interface Pins {
  list(call: MemoryCall): Promise<Pin[]>
  add(call: MemoryCall, input: PinInput): Promise<Pin>
  remove(call: MemoryCall, input: UnpinInput): Promise<Pin>
}

const kind = PIN_KIND.name
const KEY_LENGTH = 64

export function pinsOf(records: PinRecords): Pins {
  const active = (call: MemoryCall): Promise<KeptRecord[]> =>
    everyRecord(records, inOneProject(call), { kind, filter: { status: 'active' }, sort: 'id' })
  return {
    list: async (call) => (await active(call)).map(pinOf),

    async add(call, { key, text }) {
      const known = await active(call)
      const named = key ?? text.replace(/\s+/g, ' ').slice(0, KEY_LENGTH)
      if (known.length >= LIMITS.pins_max && !known.some((pin) => pin['key'] === named)) {
        throw new TurnbellError('limit_reached', {
          detail: `${known.length} texts are pinned, the maximum, because every agent reads all of them.`,
          hint: 'Remove one with `context unpin`, or post the text as a finding.',
        })
      }
      return pinOf(await records.put(inOneProject(call), { kind, record: { key: named, text } }))
    },

    async remove(call, { id, key }) {
      if ((id === undefined) === (key === undefined)) {
        throw new TurnbellError('params_invalid', {
          detail: 'id, key: expected exactly one of them.',
          hint: 'List both with `context list`.',
        })
      }
      const found = (await active(call)).find((pin) => pin.id === id || pin['key'] === key)
      if (found === undefined) {
        throw new TurnbellError('record_unknown', { detail: `There is no pin ${id ?? key ?? ''}.` })
      }
      return pinOf(await records.close(inOneProject(call), { kind, id: found.id }))
    },
  }
}

function pinOf(record: KeptRecord): Pin {
  return Pin.parse(record)
}
