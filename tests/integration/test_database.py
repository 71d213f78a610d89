from db.database import Database

def test_a_database_is_there(database: Database) -> None:
    with database.read() as rows:
        assert rows.results.count() == 0

def test_lab(lab, novel):
    from pipeline.spec import load
    job = lab.run(load("glossary"), lab.book(novel(5)))
    assert job.state == "done"
    print(lab.output(job)["entries"][:2])
