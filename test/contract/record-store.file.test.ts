import { TurnbellError } from '../../src/contracts/errors/errors.ts'
import { createFileRecordStore } from '../../src/storage/file/records/record-store.ts'
import { describeRecordStore, describeTakenRecordStore } from '../suites/record-store.suite.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const open = async () => {
  const directory = temporaryDirectory()
  let taken = false
  const mayChange = () => {
    if (taken) throw new TurnbellError('store_fenced', { detail: 'taken' })
  }
  const store = () => createFileRecordStore({ directory, mayChange })
  return { store: store(), afterKill: async () => store(), take: () => void (taken = true) }
}

describeRecordStore('file', open)
describeTakenRecordStore('file', open)
