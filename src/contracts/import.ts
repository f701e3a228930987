/** What is taken over from another tool's memory, and what became of it. */
import * as z from 'zod'
import { Json, ProjectId, Ulid } from './ids.ts'
import { LIMITS } from './limits.ts'

/** As the other tool wrote it. Each is looked at by itself: one that cannot be taken keeps no other from it. */
const Item = z.record(z.string(), Json)
const Items = z.array(Item).max(LIMITS.import_items_max).default([])

/** The day of an archive: one that the calendar knows. */
export const ArchiveDay = z.iso.date()

/** From one id to the one that stands for the same here. */
export const SameAs = z.record(Ulid, Ulid)
export type SameAs = z.infer<typeof SameAs>

export const ImportInput = z.strictObject({
  entries: Items,
  decisions: Items,
  entities: Items,
  relations: Items,
  /** Entries that were archived, each with the day of its archive. */
  archived: z
    .array(z.strictObject({ day: ArchiveDay, entry: Item }))
    .max(LIMITS.import_items_max)
    .default([]),
  /** What a call before answered, where relations come later than their entities. */
  same_as: SameAs.default({}),
})
export type ImportInput = z.infer<typeof ImportInput>

export const ImportSort = ImportInput.omit({ same_as: true }).keyof()
export type ImportSort = z.infer<typeof ImportSort>

export const ImportCounts = z.object({
  taken: z.number().int(),
  /** Was here already. */
  known: z.number().int(),
  /** Is here and says something else by now, which stays. */
  changed: z.number().int(),
  rejected: z.number().int(),
})
export type ImportCounts = z.infer<typeof ImportCounts>

export const Imported = z
  .object({
    /** Null for the hub's own memory. */
    project_id: ProjectId.nullable(),
    counts: z.object({
      ...{ entries: ImportCounts, decisions: ImportCounts, entities: ImportCounts },
      ...{ relations: ImportCounts, archived: ImportCounts },
    }),
    changed: z.array(z.object({ sort: ImportSort, id: Ulid })),
    /** `at` counts from 0 in the list that it came in. */
    rejected: z.array(
      z.object({ sort: ImportSort, at: z.number().int(), id: z.string().nullable(), reason: z.string() }),
    ),
    /** Entities that are here under another id: relations lead to that one. */
    same_as: SameAs,
  })
  .meta({ title: 'Imported' })
export type Imported = z.infer<typeof Imported>
